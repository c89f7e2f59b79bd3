import { tmpdir } from 'node:os'
import { startProcess, type ServerAddress } from '/work/next/test/bench/child.ts'
import { installWith } from '/work/next/test/bench/installation.ts'
import { openBooks } from '/work/next/test/bench/ledger.ts'
import { runToEnd, temporaryFolder } from '/work/next/test/bench/run.ts'
import { openAccounts, foldLog } from '/work/next/test/bench/video/accounts.ts'
import { videoPrices } from '/work/next/test/bench/video/price.ts'
import { measureSubmits, rowsOf, ways } from '/work/next/test/bench/video/submits.ts'
import { sandboxVideoKey } from '/work/next/src/sandbox/server.ts'

const [seconds = 2, rounds = 2, calls = 10] = process.argv.slice(2).map(Number)
await runToEnd(async (stack) => {
  const child = (script: string, args: string[] = []) => stack.adopt(startProcess(script, args), (p) => p.stop())
  const vendor = child('video/vendor.ts')
  const { url } = await vendor.ask<ServerAddress>()
  console.log(await vendor.ask({ directives: '[[queue_ms=0;run_ms=0]]' }))
  const folder = await temporaryFolder(tmpdir(), stack)
  const inst = installWith(folder, { providers: { vv: { dialect: 'vv-video', base_url: url, api_key: sandboxVideoKey, calls_per_second: calls } } }, videoPrices)
  const gw = stack.adopt(inst.start('serve'), (g) => g.stop())
  const [, gurl] = await gw.says(/answers at (http:\/\/\S+)\/v1/)
  console.log(gurl)
  const gateway = { ...inst, pids: { gateway: gw.pid }, url: gurl!, key: '', stop: gw.stop }
  const keys = await openAccounts(inst, 1000)
  const { books, addresses } = await openBooks(gateway, stack)
  const post = child('video/synced-post.ts', [addresses.natsUrl])
  const { url: postUrl } = await post.ask<ServerAddress>()
  const load = child('video/load.ts')
  const cells = []
  let accepted = 0
  for await (const { cell, warmUp } of measureSubmits({ load, gateway, postUrl, books, keys }, { rounds, connections: [64], seconds })) {
    console.log(warmUp, cell.connections, ways.map((w) => `${w} ${Math.round(cell.measured[w].result.perSecond)} p50 ${cell.measured[w].result.p50Ms.toFixed(1)} catchup ${cell.measured[w].catchUpMs.toFixed(0)} ${JSON.stringify(cell.measured[w].result.failures)}`).join(', '))
    for (const w of ways.slice(1)) accepted += cell.measured[w].result.answers
    if (!warmUp) cells.push(cell)
  }
  console.table(rowsOf(cells, [64]).map(({ cpuEach, ...r }) => ({ ...r, ...cpuEach })))
  console.log(accepted, await foldLog(inst), await vendor.ask({ directives: null }))
})
