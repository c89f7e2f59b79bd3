import t from 'tap'
import { startSandbox } from '../../../../sandbox/server.ts'
import { findOrCreateWallet } from '../../../../src/domain/ledger/ledger.ts'
import { type Holder, isLabel } from '../../../../src/domain/wallet/holders.ts'
import { billOf } from '../../../support/bills.ts'
import { chat, chatBody, until } from '../../../support/clients.ts'
import { prepareDataFolder } from '../../../support/clusters.ts'
import { configOf, openOperator, runtime, sheetOf, temporaryFolder } from '../../../support/gateway.ts'
import { type EndingSignal, GatewayProcess } from '../../../support/gateway-process.ts'
import { type Ended, runProgram } from '../../../support/program.ts'

const requestDeadlineMs = 5_000
const limitOfAlice = ['limits', 'set', 'demo', '--user', 'alice', '--spend-total', '1']

t.test('kill -9 after answers were charged, and a shutdown after others', { timeout: 240_000 }, async (t) => {
  const dataFolder = await temporaryFolder(t)
  await prepareDataFolder(dataFolder)
  const sandbox = await startSandbox(runtime)
  t.teardown(() => sandbox.stop())
  const options = { sheets: { 'openai/plain': sheetOf() }, config: { requestDeadlineMs } }
  const config = configOf(dataFolder, sandbox.url, options)

  const serve = async (signal: EndingSignal): Promise<readonly string[]> => {
    const gateway = await GatewayProcess.start(config)
    const limited = await runProgram(dataFolder, dataFolder, ...limitOfAlice)
    t.equal(limited.code, 0, limited.err)
    const requestIds: string[] = []
    for (const stream of [false, true, false]) {
      const body = JSON.stringify({ ...JSON.parse(chatBody('openai/plain', stream)), user: 'alice' })
      const { requestId, complete, status } = await chat(gateway.url, gateway.demoKey, body)
      t.match({ complete, status }, { complete: true, status: 200 })
      requestIds.push(requestId ?? '')
    }
    await gateway.end(signal)
    return requestIds
  }
  const inDoubt = await serve('SIGKILL')
  const [stopped = ''] = await serve('SIGTERM')

  const survivor = await GatewayProcess.start(config)
  const operator = await openOperator(config)
  t.teardown(async () => {
    await operator.stop()
    await survivor.end('SIGTERM')
  })
  const command = (...words: readonly string[]): Promise<Ended> =>
    runProgram(dataFolder, dataFolder, 'findings', ...words)
  const listed = async () => {
    const { out } = await command('--json')
    const findings = out.split('\n').flatMap((line) => (line === '' ? [] : JSON.parse(line)))
    return findings.filter(({ finding }) => finding === 'unknown_delivery').toReversed()
  }

  await until(
    async () =>
      (await operator.events()).some(({ type, data }) => type === 'HoldReleased' && data.reason === 'expired'),
    120_000,
  )
  await until(async () => (await listed()).length > 0)
  const [firstId = ''] = inDoubt
  const { workspaceId, total } = await billOf({ operator }, firstId)
  t.match(
    await listed(),
    inDoubt.map((id) => ({ id, workspace: workspaceId, amount: total, detail: /^edge last seen 20/ })),
  )
  t.equal((await listed()).length, inDoubt.length, 'no charge of a gateway that was shut down')

  t.match(await command('refund', stopped), { code: 1, err: /the delivery of .* is not in doubt/ })
  t.match(await command('refund', 'req_none'), { code: 1, err: /is not in doubt/ })
  t.match(await command('refund', firstId, '--json'), { code: 0, out: `"amount":"${total}","posted":"now"` })
  t.match(await command('refund', firstId, '--json'), { code: 0, out: '"posted":"before"' })
  const refunds = (await operator.events()).filter(({ type }) => type === 'AdjustmentPosted')
  t.match(refunds, [{ data: { corrects: firstId, amount: total, reason: 'undelivered', by: /^operator:/ } }])
  t.equal(refunds.length, 1)
  await operator.caughtUp()
  const { spendings, chargesPicos, adjustmentsPicos } = findOrCreateWallet(operator.tail.ledger, workspaceId)
  const spentBy = (isOf: (holder: Holder) => boolean) => [...spendings].find(([holder]) => isOf(holder))?.[1].spent
  const netPicos = chargesPicos - adjustmentsPicos
  t.equal(spentBy((holder) => !isLabel(holder))?.totalPicos, netPicos, 'it is given back to the key')
  t.equal(spentBy(isLabel)?.totalPicos, netPicos, 'and to the end user')
  await until(async () => (await listed())[0]?.settled === true)
  t.match(await command('--workspace', 'another', '--json'), { code: 0, out: '' })
})
