import t from 'tap'
import { callbackSecretRecord, workspaceCallbackSecret } from '../../src/cli/callbacks.ts'
import { startTestGateway } from '../support/gateway.ts'

const secret = 'a-secret-that-nobody-guesses'

t.test('the secret of a workspace is made of the one that is configured', async (t) => {
  t.equal(workspaceCallbackSecret(secret, 'acme'), 'whsec_mgzXfBtWI7w5tD6p/WVFUk3NWX9962utAMWBaCG0a+w=')
  t.not(workspaceCallbackSecret(secret, 'beta'), workspaceCallbackSecret(secret, 'acme'))
})

t.test('whose secret it is, as configured or as the data folder keeps it', async (t) => {
  const { operator, config } = await startTestGateway(t)
  const session = { log: operator.log, tail: operator.tail }
  const configured = { ...config, callbacks: { secret, allowPrivateAddresses: false } }
  t.same(callbackSecretRecord({ ...session, config: configured }, 'acme'), {
    workspace: 'acme',
    callback_secret: workspaceCallbackSecret(secret, 'acme'),
  })
  const kept = { ...config, callbacks: { secret: null, allowPrivateAddresses: false } }
  const record = callbackSecretRecord({ ...session, config: kept }, 'acme')
  t.match(record.callback_secret, /^whsec_/)
  t.not(record.callback_secret, workspaceCallbackSecret(secret, 'acme'))
  const nats = { url: '', monitoringUrl: undefined, user: undefined, password: undefined, credentialsFile: undefined }
  const external = { ...config, external: { databaseUrl: null, nats: { ...nats, tls: undefined } }, callbacks: null }
  t.throws(() => callbackSecretRecord({ ...session, config: external }, 'acme'), /callbacks are disabled/)
  t.throws(() => callbackSecretRecord({ ...session, config: configured }, 'nobody'), /no such workspace/)
})
