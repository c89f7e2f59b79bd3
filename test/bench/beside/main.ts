/**
 * `make bench-beside`: the gateways of several trees of this repository at once, under the same load, and what an answer costs
 * each. They share whatever else the machine does, so that a few hundredths show, which get lost between loads in turn. With
 * `--seconds`, in turn: how much each serves, and in how much memory.
 */
import { parseArgs } from 'node:util'
import { type ServerAddress, startProcess } from '../child.ts'
import { numberOf, placeOptions, runToEnd } from '../run.ts'
import { compareAtOnce } from './at-once.ts'
import { compareInTurn } from './in-turn.ts'
import { type Side, startSide } from './side.ts'

const { values } = parseArgs({
  options: {
    tree: { type: 'string', multiple: true, default: ['here=.'] }, // The first is what the others are compared with.
    rounds: { type: 'string', default: '6' },
    requests: { type: 'string', default: '1000' }, // Of each gateway in a round, at once.
    seconds: { type: 'string' }, // Of each gateway in a round, in turn.
    warm: { type: 'string', default: '5000' }, // Before the first.
    connections: { type: 'string', default: '64' }, // In turn also several numbers, with commas.
    stream: { type: 'boolean', default: false },
    keyed: { type: 'boolean', default: false }, // With an idempotency key each.
    ...placeOptions,
  },
})
const { stream, keyed, folder } = values
const common = { stream, keyed, rounds: numberOf(values.rounds), warm: numberOf(values.warm) }

const compare = (sides: readonly Side[]): Promise<string> => {
  if (values.seconds === undefined)
    return compareAtOnce(sides, {
      ...common,
      connections: numberOf(values.connections),
      requests: numberOf(values.requests),
    })
  const connections = values.connections.split(',').map(numberOf)
  return compareInTurn(sides, { ...common, connections, seconds: numberOf(values.seconds) })
}

console.log(
  await runToEnd(async (stack) => {
    const upstream = stack.adopt(startProcess('upstream.ts'), (each) => each.stop())
    const { url: upstreamUrl } = await upstream.ask<ServerAddress>()
    const sides: Side[] = []
    for (const tree of values.tree) sides.push(await startSide(tree, { folder, upstreamUrl }, stack))
    const lines = [await compare(sides), '']
    for (const side of sides) lines.push(await side.ledger())
    return lines.join('\n')
  }),
)
