import { Agent, request } from 'node:http'
import t from 'tap'
import { chat, chatBody } from '../../support/clients.ts'
import { startGatewayApart } from '../../support/gateway-apart.ts'

const attackers = 8
const rounds = 15
/** Of the answers' median while nobody attacks. Where bodies were read, or merely thrown away as fast as they came, it was some hundred times. */
const timesMax = 10
/** A machine that does other things as well. */
const graceMs = 250
/** A busy machine may need more than one. */
const triesMax = 5

/** 19 MB of what takes the longest to parse for its size. */
const largeBody = Buffer.from(`{"model":"openai/plain","many":[${'{"a":1},'.repeat(2_400_000)}0]}`)

const median = (values: readonly number[]): number => values.toSorted((a, b) => a - b)[values.length >> 1] ?? 0

t.test('large bodies that nobody pays for leave the others served', async (t) => {
  const { process: gateway, operator, account } = await startGatewayApart(t)
  const poor = await operator.openAccount('poor', '0')

  const medianMs = async (): Promise<number> => {
    const tookMs: number[] = []
    for (let round = 0; round < rounds; round += 1) {
      const seen = await chat(gateway.url, account.secret, chatBody('openai/plain', false))
      t.equal(seen.status, 200)
      tookMs.push(seen.tookMs)
    }
    return median(tookMs)
  }

  /** The status of the answer; null where the connection broke. Half of the clients leave with it, half go on sending. */
  const sendLarge = (agent: Agent, secret: string, goesOn: boolean): Promise<number | null> =>
    new Promise((resolve) => {
      const headers = {
        authorization: `Bearer ${secret}`,
        'content-type': 'application/json',
        'content-length': largeBody.length,
      }
      const sent = request(`${gateway.url}/v1/chat/completions`, { method: 'POST', agent, headers })
      sent.on('error', () => resolve(null))
      sent.on('response', (response) => {
        resolve(response.statusCode ?? null)
        if (goesOn) response.on('error', () => undefined).resume()
        else sent.destroy()
      })
      sent.end(largeBody)
    })

  /** The neighbour's median while one large body after another is sent, and what these were answered. */
  const attackedBy = async (secret: string) => {
    const agent = new Agent({ keepAlive: true, maxSockets: attackers })
    const statuses = new Set<number | null>()
    let isOver = false
    const attack = async (_: unknown, place: number): Promise<void> => {
      while (!isOver) {
        const status = await sendLarge(agent, secret, place % 2 === 0)
        if (!isOver) statuses.add(status)
      }
    }
    const attacks = Array.from({ length: attackers }, attack)
    const attackedMs = await medianMs()
    isOver = true
    agent.destroy()
    await Promise.all(attacks)
    return { attackedMs, statuses }
  }

  await medianMs()
  for (const [what, secret, status] of [
    ['without money', poor.secret, 402],
    ['without a key', 'sk-nobody', 401],
  ] as const) {
    let isServed = false
    for (let tries = 0; tries < triesMax && !isServed; tries += 1) {
      const calmMs = await medianMs()
      const { attackedMs, statuses } = await attackedBy(secret)
      t.comment(`${what}: median ${calmMs.toFixed(1)} ms, then ${attackedMs.toFixed(1)} ms`)
      t.same(statuses, new Set([status]), what)
      isServed = attackedMs < timesMax * calmMs + graceMs
    }
    t.ok(isServed, `${what}: the neighbour is served`)
  }
})
