import t from 'tap'
import { startSandbox } from '../../../sandbox/server.ts'
import { orderByAffinity } from '../../../src/domain/routing/deployments.ts'
import { billOf } from '../../support/bills.ts'
import { runtime } from '../../support/gateway.ts'
import { installations } from '../../support/installations.ts'

const names = ['east', 'west'] as const

/** Two models of which a workspace would be at home at different deployments. */
const modelsAtBoth = (workspaceId: string): readonly [string, string] => {
  const all = names.map((name) => ({ name, weight: 1 }))
  const homeOf = (model: string) => orderByAffinity(all, `${workspaceId} openai/${model}`)[0]?.name
  const models = Array.from({ length: 64 }, (_, at) => `m${at}`)
  return [models.find((model) => homeOf(model) === 'east')!, models.find((model) => homeOf(model) === 'west')!]
}

for (const { name, start } of installations)
  t.test(`a stored response is continued, read and deleted where it is (${name})`, async (t) => {
    const [first, second] = modelsAtBoth('acme')
    const models = { [first]: first, [second]: second }
    const provider = { name: 'openai', dialect: 'openai', profile: 'openai', apiKey: 'sk-upstream-secret' } as const
    const sandboxes = await Promise.all(names.map(() => startSandbox(runtime)))
    t.teardown(() => Promise.all(sandboxes.map((sandbox) => sandbox.stop())))
    const deployments = names.map((name, at) => ({
      ...{ name, weight: 1 },
      provider: { ...provider, deployment: name, baseUrl: sandboxes[at]!.url },
    }))
    const installation = await start(t, {
      models,
      config: { providers: [{ ...provider, baseUrl: sandboxes[0]!.url, models, deployments }] },
    })
    const ask = async (path: string, method: string, body?: object) => {
      const response = await fetch(`${installation.url}/v1/responses${path}`, {
        method,
        headers: { authorization: `Bearer ${installation.account.secret}`, 'content-type': 'application/json' },
        ...(body === undefined ? {} : { body: JSON.stringify(body) }),
      })
      const json = (await response.json()) as { readonly id: string }
      return { status: response.status, requestId: response.headers.get('x-gateway-request-id'), json }
    }
    const made = await ask('', 'POST', { model: `openai/${first}`, input: 'one' })
    t.match((await billOf(installation, made.requestId)).attempts, [{ deployment: 'east' }])
    t.match(
      (await billOf(installation, (await ask('', 'POST', { model: `openai/${second}`, input: 'one' })).requestId))
        .attempts,
      [{ deployment: 'west' }],
    )
    const goneOn = { model: `openai/${second}`, input: 'two', previous_response_id: made.json.id }
    const continued = await ask('', 'POST', goneOn)
    t.equal(continued.status, 200, JSON.stringify(continued.json))
    t.match((await billOf(installation, continued.requestId)).attempts, [{ outcome: 'served', deployment: 'east' }])
    t.match(await ask(`/${made.json.id}`, 'GET'), { status: 200, json: { id: made.json.id } })
    t.equal((await ask(`/${made.json.id}`, 'DELETE')).status, 200)
    t.equal((await ask(`/${made.json.id}`, 'GET')).status, 404)
  })
