/** Attacks to order, in a process of its own, whose CPU is paced. */
import { setTimeout as pause } from 'node:timers/promises'
import { attacks, type Keys, targetOf } from './attacks.ts'
import { Connection, type Ending } from './connection.ts'

export interface Order {
  readonly attack: string
  readonly url: string
  readonly keys: Keys
  readonly ms: number
}

/** How often tries ended so, as pairs. */
export type Endings = readonly (readonly [Ending, number])[]

const carryOut = async ({ attack: name, url, keys, ms }: Order): Promise<Endings> => {
  const attack = attacks.find((each) => each.name === name)
  if (attack === undefined) throw new Error(`there is no attack ${name}`)
  const endings = new Map<Ending, number>()
  const connections = Array.from({ length: attack.connections }, () => new Connection(targetOf(url)))
  let isOver = false
  const loops = connections.map(async (connection) => {
    while (!isOver) {
      const ending = await attack.attempt(connection, keys)
      endings.set(ending, (endings.get(ending) ?? 0) + 1)
      await pause() // A try that fails at once must not keep the timers waiting.
    }
  })
  await pause(ms)
  isOver = true
  for (const connection of connections) connection.close()
  await Promise.all(loops)
  return [...endings]
}

process.once('disconnect', () => process.exit())
process.on('message', async (order: Order) => process.send?.(await carryOut(order)))
process.send?.('ready')
