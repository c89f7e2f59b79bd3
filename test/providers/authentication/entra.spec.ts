import t, { type Test } from 'tap'
import { UndiciClient } from '../../../src/adapters/http/client.ts'
import { type Authentication, openAuthenticator } from '../../../src/providers/authentication/open-authenticator.ts'
import type { Authenticator } from '../../../src/providers/dialect/authenticator.ts'
import { appServiceGate, entraApplication, entraGate, imdsGate, managedResource } from '../../support/clouds/azure.ts'
import { IssuedTokens, startCloud } from '../../support/clouds/cloud.ts'

const request = { url: 'https://upstream.example/', method: 'POST', headers: {}, signal: new AbortController().signal }

const open = (t: Test, authentication: Authentication): Authenticator => {
  const http = new UndiciClient()
  t.teardown(() => http.stop())
  return openAuthenticator(authentication, { http, metadataHttp: http, clock: Date.now })
}

t.test('an application has a token for its secret, and one for all its requests', async (t) => {
  const tokens = new IssuedTokens()
  const authority = await startCloud(t, entraGate(tokens))
  const authenticator = open(t, { type: 'entra_application', authority, ...entraApplication })
  const [{ authorization }, again] = await Promise.all([
    authenticator.authorize(request),
    authenticator.authorize(request),
  ])
  t.ok(tokens.accepts(authorization))
  t.equal(again['authorization'], authorization)
  t.equal(tokens.count, 1)
})

t.test('a refusal has Entra’s own words, and no secret', async (t) => {
  const authority = await startCloud(t, entraGate(new IssuedTokens()))
  const wrong = { ...entraApplication, clientSecret: 'wrong-secret-of-the-application' }
  const fault = await open(t, { type: 'entra_application', authority, ...wrong })
    .authorize(request)
    .catch((thrown: unknown) => thrown)
  t.match(fault, { kind: 'authentication', cause: { message: /refuses: invalid_client: AADSTS7000215/ } })
  t.notMatch(String((fault as Error).cause), wrong.clientSecret)
  const scope = open(t, { type: 'entra_application', authority, ...entraApplication, scope: 'https://other/.default' })
  await t.rejects(scope.authorize(request), { cause: { message: /invalid_scope/ } })
})

t.test('an endpoint that echoes the secret, answers no JSON, or is not there', async (t) => {
  const { clientSecret } = entraApplication
  const echo = await startCloud(t, () => ({
    status: 400,
    json: { error: 'invalid_client', error_description: clientSecret },
  }))
  const faultOf = (authority: string) =>
    open(t, { type: 'entra_application', authority, ...entraApplication })
      .authorize(request)
      .catch((thrown: unknown) => thrown as Error)
  t.notMatch(JSON.stringify(String(((await faultOf(echo)) as Error).cause)), clientSecret)
  const bare = await startCloud(t, () => ({ status: 200, json: 'no object' }))
  t.match(await faultOf(bare), { kind: 'authentication', cause: { name: 'CredentialFault' } })
  t.match(await faultOf('http://127.0.0.1:1'), { kind: 'authentication', cause: { message: /cannot be reached/ } })
})

t.test('a managed identity: of a virtual machine, and of App Service', async (t) => {
  const tokens = new IssuedTokens()
  const metadataUrl = await startCloud(t, imdsGate(tokens))
  const url = await startCloud(t, appServiceGate(tokens))
  const identity = { type: 'azure_managed_identity', clientId: null, resource: managedResource, metadataUrl } as const
  for (const endpoint of [null, { url, header: 'app-service-header' }]) {
    const { authorization } = await open(t, { ...identity, endpoint }).authorize(request)
    t.ok(tokens.accepts(authorization))
  }
  const other = open(t, { ...identity, endpoint: { url, header: 'wrong' } })
  await t.rejects(other.authorize(request), { kind: 'authentication', cause: { message: /answers 401 unauthorized/ } })
})
