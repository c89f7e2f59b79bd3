import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import t from 'tap'
import { until } from '../support/clients.ts'
import { startTestGateway, temporaryFolder } from '../support/gateway.ts'
import { type Ended, runProgram } from '../support/program.ts'
import { newVideo, plainUsd, pollVideo, quick, videoOptions, walletFigures } from '../support/video.ts'

/** The commands use the queues of the gateway, so its leases must be those of the program. */
const { queueLeaseMs: _lease, queueRenewMs: _renewal, ...paces } = quick.videoPoller
const { gateway, account, operator, config } = await startTestGateway(t, {
  ...videoOptions(),
  bounds: { videoPoller: paces },
})
const folder = await temporaryFolder(t)
await writeFile(join(folder, 'gateway.yaml'), JSON.stringify({ adjustments: { approval_above: '2' } }))

const confirm = (...words: readonly string[]): Promise<Ended> =>
  runProgram(folder, config.dataFolder, 'findings', 'confirm', ...words)

/** Three units at 0.14 USD, unless the vendor reports otherwise. */
const endedVideo = async (directives: string): Promise<string> => {
  const id = await newVideo(gateway.url, account.secret, { prompt: `A cat. [[queue_ms=0;run_ms=0;${directives}]]` })
  await until(async () => (await pollVideo(gateway.url, account.secret, id)).body.data.status === 'SUCCESS')
  return id
}

const balance = async (): Promise<string> => (await walletFigures(operator, account.workspaceId)).balance

t.test('a video without a deduction is charged the units that an operator names, once', async (t) => {
  const id = await endedVideo('no_deduction')
  t.equal(await balance(), String(100 - Number(plainUsd)))
  t.match(await confirm(id, '--units', 'some'), { code: 1, err: '--units must be a number such as 4.5, got `some`' })
  t.match(await confirm(id, '--units', '20'), {
    code: 1,
    err: `20 units are far beyond the estimate of ${id} and would post -2.38 USD: add --yes if they are meant`,
  })
  t.match(await confirm(id, '--units', '20', '--yes'), {
    code: 1,
    err: /-2\.38 USD is above adjustments\.approval_above \(2\): propose it to another administrator by `gateway adjust/,
  })
  t.equal(await balance(), '99.58', 'a refusal posts nothing')
  const named = await confirm(id, '--units', '4.5', '--yes', '--json')
  t.equal(named.code, 0, named.err)
  t.match(JSON.parse(named.out), { charge: id, amount: '-0.21', posted: 'now' })
  t.equal(await balance(), '99.37')
  t.match(JSON.parse((await confirm(id, '--units', '4.5', '--yes', '--json')).out), {
    amount: '-0.21',
    posted: 'before',
  })
  t.match(await confirm(id, '--units', '4'), {
    code: 1,
    err: `confirmed:${id} has posted -0.21 USD before, not -0.14: change it by \`gateway adjust --of confirmed:${id}\``,
  })
  t.equal(await balance(), '99.37')
})

t.test('units far beyond the estimate are charged where they are meant', async (t) => {
  const before = Number(await balance())
  const id = await endedVideo('deduction=lots')
  t.match(JSON.parse((await confirm(id, '--units', '10', '--yes', '--json')).out), { amount: '-0.98', posted: 'now' })
  t.equal(Number(await balance()).toFixed(2), (before - 1.4).toFixed(2))
})

t.test('what the vendor reported as a number has no units of an operator', async (t) => {
  const id = await endedVideo('deduction=1.5')
  t.match(await confirm(id, '--units', '1'), { code: 1, err: `nothing of ${id} waits for a number of units` })
})
