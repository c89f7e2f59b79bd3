import { hash } from 'node:crypto'
import t from 'tap'
import { listOf, objectOf, textOf } from '../../src/json.ts'
import { sheetOf, startTestGateway } from '../gateway.ts'
import { type Credentials, invalidOf } from '../invalid-input.ts'
import { type Documented, OpenApiClient, type Received, type Sent } from '../openapi-client.ts'
import { randomOf } from '../random.ts'
import { videoOptions } from '../video.ts'

const seed = Number(process.env['OPENAPI_SEED'] ?? Date.now() % 100_000)
/** Invalid requests to each operation. */
const runs = Number(process.env['OPENAPI_RUNS'] ?? 6)
const answerMs = 10_000
/** Until the tables have followed, and a video is made. */
const followedMs = 60_000
const token = 'a-token-of-ana-that-nobody-can-guess'

const models = ['openai/gpt-4o-mini', 'openai/gpt-5-mini', 'anthropic/claude-sonnet-5']
const sheets = Object.fromEntries(models.map((model) => [model, sheetOf()]))

const start = async (t: Parameters<typeof startTestGateway>[0]) => {
  const admins = [{ name: 'ana', sha256: hash('sha256', token) }]
  const { gateway, account } = await startTestGateway(t, videoOptions(sheets, { admins }))
  const document = await fetch(`${gateway.url}/openapi.json`).then((response) => response.json())
  const client = new OpenApiClient(gateway.url, objectOf(document))
  const bearers: Readonly<Record<string, string>> = { key: `Bearer ${account.secret}`, adminToken: `Bearer ${token}` }

  const adminHeaders = { authorization: bearers['adminToken'] ?? '', 'content-type': 'application/json' }

  const send = (operation: Documented, sent: Sent): Promise<Received> => client.send(operation.method, sent, answerMs)
  const headersOf = ({ scheme, parameters, bodySchema }: Documented): Sent['headers'] => ({
    ...(scheme === null ? {} : { authorization: bearers[scheme] ?? '' }),
    ...(bodySchema === null ? {} : { 'content-type': 'application/json' }),
    ...Object.fromEntries(
      parameters
        .filter((each) => each.in === 'header' && each.required)
        .map(({ name, schema }) => [name, String(listOf(schema['examples'])[0])]),
    ),
  })
  const bodyOf = ({ bodyExample, bodySchema, name }: Documented): Pick<Sent, 'body'> => {
    if (bodySchema === null) return {}
    if (bodyExample === undefined) throw new Error(`the body of ${name} has no example`)
    return { body: JSON.stringify(bodyExample) }
  }
  const made = async (name: string, body?: object): Promise<Record<string, unknown>> => {
    const operation = client.operations.find((each) => each.name === name)
    if (operation === undefined) throw new Error(`there is no ${name}`)
    const sent = { path: operation.template, headers: headersOf(operation), ...bodyOf(operation) }
    const { text } = await send(operation, body === undefined ? sent : { ...sent, body: JSON.stringify(body) })
    return JSON.parse(text)
  }

  let names = 0
  const newName = (): string => {
    names += 1
    return `named-${names}`
  }
  /** What must be there before it can be asked for, by the beginning of a path. */
  const resources: readonly (readonly [path: string, make: () => Promise<unknown>])[] = [
    ['/v1/responses/', async () => (await made('POST /v1/responses'))['id']],
    ['/v1/video', async () => (await made('POST /v1/videos'))['id']],
    ['/vv/v1/videos/', async () => (await made('POST /v1/videos'))['id']],
    ['/v1/models/', async () => models[0]],
    ['/v1/ledger/charges/', async () => (await made('POST /v1/videos'))['id']],
    ['/admin/v1/workspaces/{id}/limits', async () => await limited()],
    ['/admin/v1/workspaces/{id}/keys/', async () => await limited()],
    ['/admin/v1/workspaces/{id}/subscription', async () => await subscribed()],
    ['/admin/v1/workspaces/', async () => account.workspaceId],
    ['/admin/v1/plans/', async () => await settled('/admin/v1/plans/')],
    ['/admin/v1/keys/', async () => await keyIn('acme')],
    ['/admin/v1/prices/', async () => models[0]],
    ['/admin/v1/aliases/', async () => await settled('/admin/v1/aliases/')],
    ['/admin/v1/routers/', async () => await settled('/admin/v1/routers/')],
  ]
  const settled = async (path: string): Promise<string> => {
    const name = newName()
    const operation = client.operations.find((each) => each.name === `PUT ${path}{id}`)
    if (operation !== undefined)
      await send(operation, { path: path + name, headers: headersOf(operation), ...bodyOf(operation) })
    return name
  }
  const keyIn = async (workspace: string): Promise<unknown> =>
    (await made('POST /admin/v1/keys', { workspace, name: newName() }))['id']
  /** A workspace of its own: its limits must not bind what else is asked. */
  const limited = async (): Promise<string> => {
    await made('POST /admin/v1/workspaces', { id: 'limited' })
    return 'limited'
  }
  const subscribed = async (): Promise<string> => {
    const { workspaceId } = account
    const put = (path: string, body: object): Promise<Received> =>
      client.send('put', { path, headers: adminHeaders, body: JSON.stringify(body) }, answerMs)
    await put('/admin/v1/plans/pro', { price: '1' })
    await put(`/admin/v1/workspaces/${workspaceId}/subscription`, { plan: 'pro' })
    return workspaceId
  }
  const pathOf = async ({ template, name }: Documented): Promise<string> => {
    if (!template.includes('{')) return template
    const [, make] = resources.find(([path]) => template.startsWith(path)) ?? []
    if (make === undefined) throw new Error(`nobody knows what ${name} is asked for`)
    const id = textOf(await make())
    const path = template.replace(/\{id\}/, id)
    return path.includes('{key}') ? path.replace('{key}', textOf(await keyIn(id))) : path
  }
  const validOf = async (operation: Documented): Promise<Sent> => ({
    path: await pathOf(operation),
    headers: headersOf(operation),
    ...bodyOf(operation),
  })
  const credentialsOf = ({ scheme }: Documented): Credentials | null =>
    scheme === null
      ? null
      : {
          right: bearers[scheme] ?? '',
          others: Object.entries(bearers).flatMap(([other, bearer]) => (other === scheme ? [] : [bearer])),
        }
  return { client, send, validOf, credentialsOf }
}

t.test('valid requests are served, invalid ones refused, each as the document says', async (t) => {
  t.comment(`OPENAPI_SEED=${seed} OPENAPI_RUNS=${runs}`)
  const { client, send, validOf, credentialsOf } = await start(t)
  const valid = new Map<Documented, Sent>()

  /** As often as it takes for what was made to be there. */
  const served = async (operation: Documented, sent: Sent): Promise<string> => {
    const giveUpAtMs = Date.now() + followedMs
    for (;;) {
      const received = await send(operation, sent)
      const undocumented = client.undocumented(operation, received)
      if (undocumented !== '') return undocumented
      if (received.status < 400) return ''
      if (received.status !== 404 || Date.now() > giveUpAtMs) return `${received.status}: ${received.text}`
    }
  }
  for (const operation of client.operations) {
    const sent = await validOf(operation)
    valid.set(operation, sent)
    t.equal(await served(operation, sent), '', `${operation.name} ${sent.path}`)
  }

  const random = randomOf(seed)
  const statuses = new Map<number, number>()
  for (const [operation, sent] of valid)
    for (let run = 0; run < runs; run += 1) {
      const invalid = invalidOf(client, operation, sent, credentialsOf(operation), random)
      const received = await send(operation, invalid.sent)
      statuses.set(received.status, (statuses.get(received.status) ?? 0) + 1)
      const undocumented = client.undocumented(operation, received)
      if (undocumented !== '') t.fail(`${operation.name}, ${invalid.what}: ${undocumented}`)
      else if (invalid.status !== undefined && invalid.status !== received.status)
        t.fail(`${operation.name}, ${invalid.what}: ${received.status} and not ${invalid.status}`)
      else if (invalid.mustBeRefused === true && received.status < 400)
        t.fail(`${operation.name}, ${invalid.what}: ${received.status}, though it is not what the document asks for`)
    }
  t.comment(JSON.stringify(Object.fromEntries([...statuses].sort(([a], [b]) => a - b))))
  t.ok([400, 401, 404].every((status) => runs < 12 || statuses.has(status)))
})
