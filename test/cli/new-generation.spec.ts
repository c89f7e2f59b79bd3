import { execFile } from 'node:child_process'
import { once } from 'node:events'
import { writeFileSync } from 'node:fs'
import { type AddressInfo, createServer } from 'node:net'
import { join } from 'node:path'
import t from 'tap'
import { isLong } from '../support/long-form.ts'
import { mainFile, programEnvironment, programFlags } from '../support/program.ts'

const megabyte = 2 ** 20

/** After objects that survive collections; with both halves. */
const probe = `
import v8 from 'node:v8'
process.on('exit', () => {
  const kept = []
  for (let at = 0; at < 3_000_000; at += 1) kept[at % 100_000] = { at, members: [at, at] }
  const space = v8.getHeapSpaceStatistics().find(({ space_name: name }) => name === 'new_space')
  console.error('new generation ' + space.space_size)
})`

const megabytesOf = async (flags: readonly string[], ...words: readonly string[]): Promise<number> => {
  const probed = [...flags, '--import', `data:text/javascript,${encodeURIComponent(probe)}`, mainFile, ...words]
  const stderr = await new Promise<string>((resolve) =>
    execFile(process.execPath, probed, { env: programEnvironment() }, (_fault, _out, err) => resolve(err)),
  )
  return Number(/new generation (\d+)/.exec(stderr)?.[1]) / megabyte
}

t.test("V8's new generation", async (t) => {
  const used = createServer().listen(0, '127.0.0.1')
  t.teardown(() => used.close())
  await once(used, 'listening')
  const folder = t.testdir()
  const configOf = (workers: string): string => {
    const file = join(folder, `${workers}.yaml`)
    writeFileSync(file, `sandbox: true\nworkers: ${workers}\n`)
    return file
  }
  // It ends where its port is in use, once it knows of its workers.
  const serve = ['serve', '--data', join(folder, 'data'), '--port', String((used.address() as AddressInfo).port)]
  t.equal(await megabytesOf(programFlags, ...serve), 256, 'it grows at once where clients are served')
  t.equal(await megabytesOf(programFlags, ...serve, '--workers', '2'), 16, 'not in a supervisor')
  t.equal(await megabytesOf(programFlags, 'verify', '--help'), 16, 'nor in a command')
  if (!isLong) return
  t.equal(await megabytesOf(programFlags, ...serve, '--config', configOf('2')), 16, 'nor in one of the configuration')
  const own = ['--max-semi-space-size=32', '--semi-space-growth-factor=64']
  t.equal(await megabytesOf([...programFlags, ...own], ...serve), 64, 'flags that come later take precedence')
  t.ok((await megabytesOf([], 'verify', '--help')) > 16, "without flags it is V8's own")
})
