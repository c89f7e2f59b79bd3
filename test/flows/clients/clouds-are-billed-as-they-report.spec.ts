import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import OpenAI from 'openai'
import t from 'tap'
import type { Authentication } from '../../../src/providers/authentication/open-authenticator.ts'
import { billOf, checkReservations, startBilling } from '../../support/bills.ts'
import { until } from '../../support/clients.ts'
import {
  azureAccount,
  azureGate,
  entraApplication,
  entraGate,
  imdsGate,
  managedResource,
} from '../../support/clouds/azure.ts'
import { type CloudGate, IssuedTokens, startCloud } from '../../support/clouds/cloud.ts'
import {
  authorizedUser,
  googleMetadataGate,
  googleTokenGate,
  serviceAccount,
  vertexGate,
  vertexPath,
} from '../../support/clouds/google.ts'
import { anthropicOf, checkSurfaces, faultOf, openaiOf, question, startClouds } from '../../support/clouds/running.ts'
import { temporaryFolder } from '../../support/gateway.ts'

t.test('Vertex AI: Gemini and Claude, by a service account, a user and the machine', async (t) => {
  const tokens = new IssuedTokens()
  let sandboxUrl = ''
  const origin = await startCloud(t, (call) => vertexGate(sandboxUrl, tokens)(call))
  const tokenOrigin = await startCloud(t, googleTokenGate(tokens))
  const metadataUrl = await startCloud(t, googleMetadataGate(tokens))
  const folder = await temporaryFolder(t)
  const write = async (name: string, content: object): Promise<string> => {
    await writeFile(join(folder, name), JSON.stringify(content))
    return join(folder, name)
  }
  const by = (file: string | null): Authentication => ({ type: 'google_credentials', file, metadataUrl })
  const vertex = { dialect: 'vertex', baseUrl: origin + vertexPath, apiKey: '' } as const
  const account = by(await write('account.json', serviceAccount(tokenOrigin)))
  const running = await startClouds(t, [
    { ...vertex, name: 'vertex', authentication: account, model: 'claude-plain' },
    {
      ...vertex,
      name: 'vertex-user',
      authentication: by(await write('user.json', authorizedUser(tokenOrigin))),
      model: 'gemini-plain',
    },
    { ...vertex, name: 'vertex-machine', authentication: by(null), model: 'plain' },
  ])
  sandboxUrl = running.sandbox.url

  for (const model of ['vertex/claude-plain', 'vertex-user/gemini-plain', 'vertex-machine/plain'])
    t.test(model, (t) => checkSurfaces(t, running, model))

  t.test('tokens of messages are counted where the model is Claude’s', async (t) => {
    for (const model of ['vertex/claude-plain', 'vertex-user/gemini-plain']) {
      const { input_tokens } = await anthropicOf(running).messages.countTokens({ model, messages: question })
      t.ok(input_tokens > 0)
    }
    t.ok(running.sandbox.calls().some(({ path }) => path === '/v1/messages/count_tokens'))
  })

  t.test('tokens of contents are counted by Gemini, with what is no text; for Claude by us', async (t) => {
    const countOf = async (model: string, body: object): Promise<unknown> => {
      const headers = { 'content-type': 'application/json', 'x-goog-api-key': running.account.secret }
      const url = `${running.gateway.url}/v1beta/models/${model}:countTokens`
      return (await fetch(url, { method: 'POST', headers, body: JSON.stringify(body) })).json()
    }
    const text = { text: 'one two three' }
    const video = { inlineData: { mimeType: 'video/mp4', data: 'AAAA' } }
    const systemInstruction = { parts: [{ text: 'four' }] }
    const safetySettings = [{ category: 'HARM_CATEGORY_HARASSMENT', threshold: 'BLOCK_NONE' }]
    const generateContentRequest = { contents: [{ parts: [text, video] }], systemInstruction, safetySettings }
    t.match(await countOf('vertex-user/gemini-plain', { generateContentRequest }), { totalTokens: 4 })
    t.equal(running.sandbox.calls().at(-1)?.path, '/v1/models/gemini-plain:countTokens')
    t.match(await countOf('vertex/claude-plain', { contents: [{ parts: [text] }] }), { totalTokens: Number })
  })

  t.test('embeddings', async (t) => {
    const asked = { model: 'vertex/embedding', input: ['north', 'south'] }
    const { data, usage } = await openaiOf(running).embeddings.create({ ...asked, encoding_format: 'float' })
    t.same(
      data.map(({ embedding }) => embedding),
      [
        [0.25, -0.5],
        [0.25, -0.5],
      ],
    )
    t.equal(usage.prompt_tokens, 6)
  })

  t.test('a beta is forwarded, and a model that is not there is not the caller’s fault', async (t) => {
    const { messages } = anthropicOf(running).beta
    await messages.create({
      model: 'vertex/claude-plain',
      messages: question,
      max_tokens: 9,
      betas: ['context-1m-2025-08-07'],
    })
    t.equal(running.sandbox.calls().at(-1)?.headers['anthropic-beta'], 'context-1m-2025-08-07')
    const absent = await faultOf(
      openaiOf(running).chat.completions.create({ model: 'vertex/absent', messages: question }),
    )
    t.match(absent, { status: 502, code: 'upstream_error' })
  })

  await checkReservations(t, running)
})

t.test('Azure OpenAI, by key, by an application of Entra and by a managed identity', async (t) => {
  const tokens = new IssuedTokens()
  let sandboxUrl = ''
  const resource = await startCloud(t, (call) => azureGate(sandboxUrl, tokens)(call))
  const entra = entraGate(tokens)
  let isEntraDown = false
  const down: CloudGate = () => ({ status: 503, json: { error: 'temporarily_unavailable' } })
  const authority = await startCloud(t, (call) => (isEntraDown ? down(call) : entra(call)))
  const metadataUrl = await startCloud(t, imdsGate(tokens))
  const application: Authentication = { type: 'entra_application', authority, ...entraApplication }
  const wrong: Authentication = { ...application, clientSecret: 'the-wrong-secret-of-an-application' }
  const identity: Authentication = {
    type: 'azure_managed_identity',
    clientId: null,
    resource: managedResource,
    endpoint: null,
    metadataUrl,
  }
  const { apiKey, apiVersion } = azureAccount
  const v1 = { dialect: 'azure', baseUrl: `${resource}/openai/v1`, apiKey: '', model: 'plain' } as const
  const dated = { dialect: 'azure', baseUrl: `${resource}/openai`, apiKey: '', model: 'plain', apiVersion } as const
  const running = await startClouds(t, [
    { ...v1, name: 'azure-wrong', authentication: wrong },
    { ...v1, name: 'azure-key', apiKey },
    { ...dated, name: 'azure-entra', authentication: application },
    { ...v1, name: 'azure-identity', authentication: identity },
    { ...dated, name: 'azure-dated', apiKey },
  ])
  sandboxUrl = running.sandbox.url
  const openai = openaiOf(running)

  for (const name of ['azure-key', 'azure-entra', 'azure-identity', 'azure-dated'])
    t.test(name, (t) => checkSurfaces(t, running, `${name}/plain`))

  t.test('embeddings, by each address', async (t) => {
    for (const name of ['azure-key', 'azure-dated']) {
      const bills = await startBilling(running)
      const { data, usage } = await openai.embeddings.create({ model: `${name}/embedding`, input: ['north', 'south'] })
      t.equal(data.length, 2)
      t.match(await bills(t), [{ surface: 'embeddings', usage: { promptTotal: usage.prompt_tokens } }])
    }
  })

  t.test('one token serves all requests; a revoked one is replaced', async (t) => {
    t.equal(tokens.count, 2, 'one of the application, one of the identity')
    tokens.revokeAll()
    const fault = await faultOf(openai.chat.completions.create({ model: 'azure-entra/plain', messages: question }))
    t.ok(fault instanceof OpenAI.APIError, 'the request that finds it refused')
    await until(() =>
      openai.chat.completions.create({ model: 'azure-entra/plain', messages: question }).then(
        () => true,
        () => false,
      ),
    )
  })

  t.test('no credential is a candidate that failed: the next one serves', async (t) => {
    const { response } = await openai.chat.completions
      .create({ model: 'gateway/auto', messages: question })
      .withResponse()
    const bill = await billOf(running, response.headers.get('x-request-id'))
    t.match(bill.attempts, [
      { model: 'azure-wrong/absent', outcome: 'failed', reason: 'authentication' },
      { model: 'azure-dated/plain', outcome: 'served' },
    ])
    isEntraDown = true
    const alone = await faultOf(openai.chat.completions.create({ model: 'azure-wrong/plain', messages: question }))
    t.match(alone, { status: 502, code: 'upstream_error' })
  })

  t.test('a filtered prompt is the caller’s; a deployment that is not there is ours', async (t) => {
    const content = 'these are forbidden words'
    for (const model of ['azure-key/plain', 'azure-dated/plain']) {
      const filtered = await faultOf(openai.chat.completions.create({ model, messages: [{ role: 'user', content }] }))
      t.match(filtered, { status: 400, code: 'content_policy_violation' })
    }
    const absent = await faultOf(openai.chat.completions.create({ model: 'azure-key/absent', messages: question }))
    t.match(absent, { status: 502, code: 'upstream_error' })
  })

  t.test('what reaches into the operator’s account is refused', async (t) => {
    const sources = [
      { type: 'azure_search', parameters: { authentication: { type: 'system_assigned_managed_identity' } } },
    ]
    const extra = { data_sources: sources }
    const asked = { model: 'azure-key/plain', messages: question, ...extra }
    const fault = await faultOf(openai.chat.completions.create(asked))
    t.match(fault, { status: 400, code: 'unsupported_parameter', param: 'data_sources' })
  })

  t.test('a stored answer is read and deleted where it is kept', async (t) => {
    for (const name of ['azure-key', 'azure-entra']) {
      const { id } = await openai.responses.create({
        model: `${name}/plain`,
        input: 'Which way is north?',
        store: true,
      })
      t.match(await openai.responses.retrieve(id), { id })
      await openai.responses.delete(id)
    }
  })

  await checkReservations(t, running)
})
