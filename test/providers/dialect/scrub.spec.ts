import t from 'tap'
import { scrub, withoutKeys } from '../../../src/providers/dialect/scrub.ts'
import { sharedLimits } from '../../../src/runtime/limits.ts'
import { cpuMsOf } from '../../support/cpu-time.ts'

t.test('a message that quotes a long text of its caller is scrubbed at once', async (t) => {
  for (const unit of ['a-', 'a.', 'a://', 'a@', 'req_', 'bearer ', 'project ', '-----BEGIN ', '1:']) {
    const message = `${unit.repeat(64 * 1024)}!`
    const ms = cpuMsOf(() => scrub(message, ['a-secret-of-ours']))
    t.ok(ms < 200, `${unit}: ${ms.toFixed(0)} ms`)
  }
})

t.test('what must go', async (t) => {
  const table: readonly [string, RegExp][] = [
    ['Incorrect API key provided: sk-proj-ab****************wxyz.', /sk-proj|wxyz/],
    ['Incorrect API key provided: xai-Ab12Cd34.', /xai-/],
    ['key=AIzaSyA-1234567890abcdef', /AIza/],
    ['header Authorization: Bearer abc.def-ghi', /abc\.def/],
    ['connect to https://eu.api.vendor.com:8443/v1/x?key=1 failed', /vendor|8443|key=1/],
    ['upstream vendor-gw-7.prod.internal:9000 refused', /vendor-gw|9000/],
    ['connect ECONNREFUSED 10.1.2.3:443', /10\.1/],
    ['connect ECONNREFUSED [2001:db8::1]:443', /2001|db8/],
    ['getaddrinfo ENOTFOUND localhost:11434', /11434|localhost/],
    ['model not available in organization org-Ab12Cd34Ef', /Ab12/],
    ['Rate limit reached in organization acme on tokens', /acme/],
    ['for organization "Acme Widgets GmbH" on requests', /Acme|Widgets/],
    ['project proj_abcDEF123 has no access', /abcDEF/],
    ['Account: acme-widgets is limited', /acme/],
    ['contact ops@acme.example for help', /acme|ops/],
    ['request req_0123456789abcdef failed', /0123456789/],
    ['key hunter2 is wrong', /hunter2/],
    ['User: arn:aws:sts::123456789012:assumed-role/gateway/i-1 is not authorized', /1234|gateway/],
    ['Credential=AKIAIOSFODNN7EXAMPLE/20261124/eu-west-1', /AKIA/],
    ['{"x-amz-security-token":"IQoJb3JpZ2luX2VjE"}', /IQoJ/],
    ['headers x-amz-security-token:IQoJb3JpZ2luX2VjE+//x==', /IQoJ/],
    ['assertion eyJhbGciOiJSUzI1NiJ9.eyJpc3MiOiJhIn0.c2lnbmF0dXJl was refused', /eyJ|c2ln/],
    ['Signature=5d672d79c15b13162d9279b0855cfba6789a8edb', /5d672d79/],
    [`got ${'5d672d79'.repeat(8)} instead`, /5d672d79/],
    ['client_secret GOCSPX-abc_DEF-123', /GOCSPX/],
    ['-----BEGIN PRIVATE KEY-----\nMIIEvQ\n-----END PRIVATE KEY-----', /MIIE/],
    ['{"key":"-----BEGIN RSA PRIVATE KEY-----\\nMIIEvQ', /MIIE/],
  ]
  for (const [message, leak] of table) t.notMatch(scrub(message, ['hunter2', '']), leak, message)
})

t.test('a secret goes in the forms in which it is sent, and where the text is cut', async (t) => {
  const secret = 'a~secret/with "signs"+ and=more'
  const forms = [secret, encodeURIComponent(secret), JSON.stringify(secret), `${new URLSearchParams({ secret })}`]
  for (const form of forms) {
    t.notMatch(scrub(`it is ${form}`, [secret]), /secret.*with|signs|more/, form)
    const long = 'x '.repeat(sharedLimits.upstreamMessageCharactersMax / 2 - 6) + form
    t.notMatch(scrub(long, [secret]), /a~sec|a%7Esec/, `${form} at the end`)
    t.notMatch(withoutKeys(`${'x '.repeat(20)}${form}`, [secret], 48), /a~sec|a%7Esec/, `${form} in our log`)
  }
})

t.test('what must stay', async (t) => {
  const kept = [
    "This model's maximum context length is 128000 tokens. However, your messages resulted in 130001 tokens.",
    "Unsupported parameter: 'max_tokens' is not supported with this model. Use 'max_completion_tokens' instead.",
    "Invalid type for 'messages[0].content': expected one of a string or array of objects, but got an integer instead.",
    'Your organization must be verified to stream this model.',
    'The model `gpt-4.1-mini` does not exist or you do not have access to it.',
    "Invalid schema for response_format 'answer': In context=(), 'required' is required to be supplied.",
  ]
  for (const message of kept) t.equal(scrub(message, []), message)
})

t.test('a message is bounded', async (t) => {
  t.ok(scrub('a. '.repeat(100_000), []).length <= sharedLimits.upstreamMessageCharactersMax)
})
