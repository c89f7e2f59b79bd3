import type { ServerResponse } from 'node:http'
import t, { type Test } from 'tap'
import type { UsageRecorded } from '../../../src/events/types.ts'
import { until } from '../../support/clients.ts'
import { beginStream, closingEvents, startHostileUpstream, wordsEvent } from '../../support/hostile-upstream.ts'
import { type Installation, installations } from '../../support/installations.ts'

const answer = {
  ...{ id: 'c', object: 'chat.completion', created: 1, model: 'm' },
  choices: [{ index: 0, message: { role: 'assistant', content: 'Well', refusal: null }, finish_reason: 'stop' }],
  usage: { prompt_tokens: 7, completion_tokens: 3, total_tokens: 10 },
}

const models = Array.from({ length: 12 }, (_, at) => `m${at}`)
const requests = 240
const atOnce = 24

/** The ways in which one fails before its first byte. */
const failures: readonly ((response: ServerResponse) => void)[] = [
  (response) => void response.destroy(),
  (response) => void response.writeHead(503).end(),
  (response) => void response.writeHead(429, { 'retry-after': '1' }).end('{}'),
  (response) => void response.writeHead(200, { 'content-type': 'text/html' }).end('<html>'),
]

/** Counts the answers that it would charge for. */
class CountingUpstream {
  served = 0
  failed = 0
  isFailing = false

  readonly behaviours = Object.fromEntries(
    models.map((name) => [
      name,
      (response: ServerResponse, { stream }: { readonly stream: boolean }): void => this.#respond(response, stream),
    ]),
  )

  #respond(response: ServerResponse, stream: boolean): void {
    if (this.isFailing) {
      this.failed += 1
      failures[this.failed % failures.length]?.(response)
      return
    }
    this.served += 1
    if (stream) {
      beginStream(response)
      response.end(wordsEvent('Well') + closingEvents(7, 3))
    } else response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify(answer))
  }
}

const names = ['east', 'west', 'north'] as const

const startDivided = async (t: Test, start: (typeof installations)[number]['start']) => {
  const upstreams = names.map((name) => ({ name, upstream: new CountingUpstream() }))
  const renames = Object.fromEntries(models.map((name) => [name, name]))
  const provider = { name: 'openai', dialect: 'openai', profile: 'openai', apiKey: 'sk-upstream-secret' } as const
  const deployments = await Promise.all(
    upstreams.map(async ({ name, upstream }) => {
      const baseUrl = await startHostileUpstream(t, upstream.behaviours)
      return { name, weight: 1, provider: { ...provider, deployment: name, baseUrl } }
    }),
  )
  const [{ provider: first } = { provider: undefined }] = deployments
  const divided = { ...provider, baseUrl: first?.baseUrl ?? '', models: renames, deployments }
  const installation = await start(t, { models: renames, config: { providers: [divided] } })
  return { installation, upstreams }
}

const ask = async ({ url, account }: Installation, at: number): Promise<string> => {
  const stream = at % 2 === 0
  const response = await fetch(`${url}/v1/chat/completions`, {
    method: 'POST',
    headers: { authorization: `Bearer ${account.secret}`, 'content-type': 'application/json' },
    body: JSON.stringify({
      ...{ model: `openai/${models[at % models.length]}`, stream, max_tokens: 64 },
      messages: [{ role: 'user', content: 'Say a few words about money.' }],
    }),
  })
  const text = await response.text()
  const isComplete = response.status === 200 && text.includes('Well') && (!stream || text.endsWith('data: [DONE]\n\n'))
  return isComplete ? 'answered' : `${response.status} ${text.slice(0, 200)}`
}

const billsOf = async ({ operator }: Installation): Promise<readonly UsageRecorded[]> =>
  (await operator.events()).flatMap((event) => (event.type === 'UsageRecorded' ? [event.data] : []))

for (const { name, start } of installations)
  t.test(
    `one of three deployments fails under load: no client notices, and each is billed for what it did (${name})`,
    async (t) => {
      const { installation, upstreams } = await startDivided(t, start)
      const [failing] = upstreams
      let next = 0
      const outcomes: string[] = []
      const client = async (): Promise<void> => {
        while (next < requests) {
          const at = next
          next += 1
          if (at === requests / 3) failing!.upstream.isFailing = true
          outcomes.push(await ask(installation, at))
        }
      }
      await Promise.all(Array.from({ length: atOnce }, client))
      t.same(new Set(outcomes), new Set(['answered']))
      await until(async () => (await billsOf(installation)).length === requests)

      const bills = await billsOf(installation)
      const attempts = bills.flatMap((bill) => bill.attempts)
      t.ok(bills.every(({ usage }) => usage.promptTotal === 7 && usage.outputTotal === 3))
      for (const { name, upstream } of upstreams) {
        const ofIts = attempts.filter(({ deployment }) => deployment === name)
        t.equal(
          ofIts.filter(({ outcome }) => outcome === 'served').length,
          upstream.served,
          `${name}: what it answered`,
        )
        t.equal(ofIts.filter(({ outcome }) => outcome === 'failed').length, upstream.failed, `${name}: what it failed`)
        t.ok(upstream.served > 0, `${name} had a part`)
      }
      t.ok(failing!.upstream.failed > 0)
      t.ok(failing!.upstream.failed < requests / 4, `it is passed by: ${failing!.upstream.failed} calls failed`)
    },
  )
