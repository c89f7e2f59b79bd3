/**
 * `make practice-month`: a gateway with the month of docs/examples/month in a data folder of its own, to close, invoice, export and
 * reconcile it. Goes on until SIGINT.
 */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdir, writeFile } from 'node:fs/promises'
import { resolve } from 'node:path'
import { createInterface } from 'node:readline'
import { parseArgs } from 'node:util'
import { readConfig } from '../src/config/config.ts'
import { sayAt } from './dashboard/seed.ts'
import { opened } from './roles/projector/facts.ts'
import { exampleConfig, exampleMonth, postExampleMonth } from './support/example-month.ts'
import { openOperator } from './support/gateway.ts'
import { mainFile, programFlags } from './support/program.ts'

const { values } = parseArgs({
  options: { data: { type: 'string', default: 'out/month' }, port: { type: 'string', default: '8787' } },
})
const dataFolder = resolve(values.data)
const file = resolve(dataFolder, 'gateway.yaml')
await mkdir(dataFolder, { recursive: true, mode: 0o700 })
await writeFile(file, `${exampleConfig}demo: false\n`)

const serve = ['serve', '--data', dataFolder, '--config', file, '--port', values.port]
const child = spawn(process.execPath, [...programFlags, mainFile, ...serve], { stdio: ['ignore', 'pipe', 'inherit'] })
const ended = once(child, 'exit')
for (const signal of ['SIGINT', 'SIGTERM'] as const) process.on(signal, () => child.kill(signal))

const fill = async (): Promise<void> => {
  const config = readConfig({}, { role: 'operator', file, dataFolder })
  const operator = await openOperator(config)
  const isFilled = operator.tail.ledger.accounts.workspaces.has('acme')
  await operator.stop()
  if (isFilled) return
  await sayAt({ config }, () => Date.parse(`${exampleMonth}-01T00:00:00Z`), [opened('acme', '0')])
  await postExampleMonth((atMs, facts, wallet) => sayAt({ config }, () => atMs, facts, wallet))
}

for await (const line of createInterface({ input: child.stdout })) {
  console.log(line)
  if (!/The dashboard:/.test(line)) continue
  await fill()
  const command = `npm run -s gateway -- --data ${values.data} --config ${values.data}/gateway.yaml`
  console.log(`
  The month ${exampleMonth} is in ${values.data}. In another terminal, as docs/month-end.md has it:
  ${command} reconcile --provider openai --format csv --file docs/examples/month/providers.csv
  ${command} close ${exampleMonth}
`)
}
const [code] = (await ended) as [number | null]
process.exitCode = code ?? 1
