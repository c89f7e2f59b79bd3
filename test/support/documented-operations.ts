import { asArray, asObject, asText } from '../../src/encoding/json.ts'
import { sheetOf } from './gateway.ts'
import type { Credentials } from './invalid-input.ts'
import { type Documented, OpenApiClient, type Received, type Sent } from './openapi-client.ts'

const answerMs = 10_000

/** The models that must have a price. */
export const documentedSheets = {
  ...Object.fromEntries(
    ['openai/gpt-4o-mini', 'openai/gpt-5-mini', 'anthropic/claude-sonnet-5', 'gemini/gemini-2.5-flash'].map((model) => [
      model,
      sheetOf(),
    ]),
  ),
  ...Object.fromEntries(
    ['openai/text-embedding-3-small', 'gemini/gemini-embedding-001'].map((model) => [
      model,
      sheetOf({ per_million_tokens: { input: '1', output: '0' }, max_output_tokens: 0 }),
    ]),
  ),
}

/** Of every upstream format. */
const answeringModels = ['openai/gpt-4o-mini', 'anthropic/claude-sonnet-5', 'gemini/gemini-2.5-flash']
const modelsOf: Readonly<Record<string, readonly string[]>> = {
  '/v1/chat/completions': answeringModels,
  '/v1/messages': answeringModels,
  '/v1/messages/count_tokens': answeringModels,
  '/v1/responses': answeringModels,
  '/v1/embeddings': ['openai/text-embedding-3-small', 'gemini/gemini-embedding-001'],
}
/** Long before anything that a gateway of the tests has: nothing is posted in another month because of it. */
export const closedMonth = '2020-01'
/** Where the example is of what no gateway of the tests has. */
const bodies: Readonly<Record<string, object>> = { 'POST /admin/v1/invoices': { month: closedMonth } }
export const documentedModel = 'openai/gpt-4o-mini'

export interface DocumentedGateway {
  readonly url: string
  /** Of a key with money. */
  readonly secret: string
  readonly adminToken: string
  /** What administration is tried on. */
  readonly workspaceId: string
}

/** Asks a gateway for its document, and makes what its operations are asked for. */
export const documentedOperations = async ({ url, secret, adminToken, workspaceId }: DocumentedGateway) => {
  const document = await fetch(`${url}/openapi.json`).then((response) => response.json())
  const client = new OpenApiClient(url, asObject(document))
  const bearers: Readonly<Record<string, string>> = { key: `Bearer ${secret}`, adminToken: `Bearer ${adminToken}` }

  const adminHeaders = { authorization: bearers['adminToken'] ?? '', 'content-type': 'application/json' }

  const send = (operation: Documented, sent: Sent): Promise<Received> => client.send(operation.method, sent, answerMs)
  const headersOf = ({ scheme, parameters, bodySchema }: Documented): Sent['headers'] => ({
    ...(scheme === null ? {} : { authorization: bearers[scheme] ?? '' }),
    ...(bodySchema === null ? {} : { 'content-type': 'application/json' }),
    ...Object.fromEntries(
      parameters
        .filter((each) => each.in === 'header' && each.required)
        .map(({ name, schema }) => [name, String(asArray(schema['examples'])[0])]),
    ),
  })
  const bodyOf = ({ bodyExample, bodySchema, name }: Documented): Pick<Sent, 'body'> => {
    if (bodySchema === null) return {}
    if (bodies[name] !== undefined) return { body: JSON.stringify(bodies[name]) }
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
    ['/v1/models/', async () => documentedModel],
    ['/v1beta/models/', async () => documentedModel],
    ['/v1/ledger/charges/', async () => (await made('POST /v1/videos'))['id']],
    ['/admin/v1/workspaces/{workspace}/ledger/charges/', async () => (await made('POST /v1/videos'))['id']],
    ['/admin/v1/workspaces/{id}/limits', async () => await limited()],
    ['/admin/v1/workspaces/{id}/keys/', async () => await limited()],
    ['/admin/v1/workspaces/{id}/subscription', async () => await subscribed()],
    ...['suspend', 'resume', 'close'].map(
      (verb) => [`/admin/v1/workspaces/{id}/${verb}`, async () => opened()] as const,
    ),
    ['/admin/v1/workspaces/', async () => workspaceId],
    ['/admin/v1/periods/{id}/unfinished', async () => closedMonth],
    ['/admin/v1/periods/{id}/close', async () => closedMonth],
    ['/admin/v1/periods/{id}/reopen', async () => await closed()],
    ['/admin/v1/periods/{id}', async () => closedMonth],
    ['/admin/v1/invoices/', async () => await invoiced()],
    ['/admin/v1/plans/', async () => await settled('/admin/v1/plans/')],
    ['/admin/v1/keys/', async () => await keyIn('acme')],
    ['/admin/v1/prices/', async () => documentedModel],
    ['/admin/v1/routes/', async () => documentedModel],
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
  /** Where adjustments of more than 1,000 USD take an approval. */
  const adjusted = async (path: string): Promise<string> => {
    const [address = '', verb = ''] = path.split('/{key}/')
    const reference = newName()
    const body = { amount: verb === 'reject' ? '1001' : '1', reason: 'goodwill', reference }
    await client.send('post', { path: address, headers: adminHeaders, body: JSON.stringify(body) }, answerMs)
    return reference
  }
  const watched = async (template: string): Promise<string> => {
    const path = template.replace('{key}', newName())
    const body = { measure: 'balance', threshold: '0', destinations: ['ops'] }
    await client.send('put', { path, headers: adminHeaders, body: JSON.stringify(body) }, answerMs)
    return path
  }
  const keyIn = async (workspace: string): Promise<unknown> =>
    (await made('POST /admin/v1/keys', { workspace, name: newName() }))['id']
  /** A workspace of its own: its limits must not bind what else is asked. */
  const limited = async (): Promise<string> => {
    await made('POST /admin/v1/workspaces', { id: 'limited' })
    return 'limited'
  }
  /** A workspace of its own: what is closed is closed for all that is asked later. */
  const opened = async (): Promise<string> => {
    const id = newName()
    await made('POST /admin/v1/workspaces', { id })
    return id
  }
  const closed = async (): Promise<string> => {
    const path = `/admin/v1/periods/${closedMonth}/close`
    await client.send('post', { path, headers: adminHeaders, body: '{}' }, answerMs)
    return closedMonth
  }
  /** Of the gateways that have a seller, and something in that month. */
  const invoiced = async (): Promise<unknown> => {
    const path = '/admin/v1/invoices'
    await closed()
    await client.send('post', { path, headers: adminHeaders, body: JSON.stringify({ month: closedMonth }) }, answerMs)
    const { text } = await client.send('get', { path, headers: adminHeaders }, answerMs)
    return asObject(asArray(asObject(JSON.parse(text))['data'])[0] ?? { id: 'INV-000001' })['id']
  }
  const subscribed = async (): Promise<string> => {
    const put = (path: string, body: object): Promise<Received> =>
      client.send('put', { path, headers: adminHeaders, body: JSON.stringify(body) }, answerMs)
    await put('/admin/v1/plans/pro', { price: '1' })
    await put(`/admin/v1/workspaces/${workspaceId}/subscription`, { plan: 'pro' })
    return workspaceId
  }
  const pathOf = async ({ template: written, name }: Documented): Promise<string> => {
    const template = written.replace('{workspace}', workspaceId)
    if (!template.includes('{')) return template
    const [, make] = resources.find(([path]) => written.startsWith(path)) ?? []
    if (make === undefined) throw new Error(`nobody knows what ${name} is asked for`)
    const id = asText(await make())
    const path = template.replace(/\{(?:id|model)\}/, id)
    if (!path.includes('{key}')) return path
    if (path.includes('/alert-rules/')) return watched(path)
    return path.replace('{key}', path.includes('/adjustments/') ? await adjusted(path) : asText(await keyIn(id)))
  }
  const validOf = async (operation: Documented): Promise<Sent> => {
    if (operation.name === 'POST /admin/v1/invoices') await closed()
    return { path: await pathOf(operation), headers: headersOf(operation), ...bodyOf(operation) }
  }
  /** The request to every kind of model that it can be sent to. */
  const onEveryModel = ({ template, method }: Documented, sent: Sent): readonly Sent[] => {
    if (method === 'POST' && template.startsWith('/v1beta/models/'))
      return answeringModels.map((model) => ({ ...sent, path: sent.path.replace(documentedModel, model) }))
    const body = asObject(JSON.parse(String(sent.body ?? '{}')))
    return modelsOf[template]?.map((model) => ({ ...sent, body: JSON.stringify({ ...body, model }) })) ?? [sent]
  }
  const credentialsOf = ({ scheme }: Documented): Credentials | null =>
    scheme === null
      ? null
      : {
          right: bearers[scheme] ?? '',
          others: Object.entries(bearers).flatMap(([other, bearer]) => (other === scheme ? [] : [bearer])),
        }
  return { client, send, validOf, onEveryModel, credentialsOf }
}
