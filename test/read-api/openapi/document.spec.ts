import { Validator } from '@seriousme/openapi-schema-validator'
import t from 'tap'
import { getValidator, readSchema } from '../../../src/encoding/schema-validation.ts'
import { openapiDocument, operations } from '../../../src/roles/edge/operations.ts'
import { startEdge } from '../../roles/edge/edge-fixture.ts'

t.test('the document is OpenAPI 3.1', async (t) => {
  const document: Record<string, unknown> = JSON.parse(JSON.stringify(openapiDocument()))
  const validator = new Validator()
  t.match(await validator.validate(document), { valid: true })
  t.equal(validator.version, '3.1')
  t.match(document, { info: { version: '2026.04' } }, 'of the specification')
})

t.test('anybody may read it, and keep it', async (t) => {
  const { url } = await startEdge(t)
  const first = await fetch(`${url}/openapi.json`)
  t.equal(first.status, 200)
  t.match(first.headers.get('content-type'), /^application\/json/)
  t.match(first.headers.get('cache-control'), /max-age/)
  t.same(await first.json(), JSON.parse(JSON.stringify(openapiDocument())))
  const kept = { 'if-none-match': first.headers.get('etag') ?? '', 'cache-control': 'max-age=0' }
  const again = await fetch(`${url}/openapi.json`, { headers: kept })
  t.equal(again.status, 304)
  t.equal(await again.text(), '')
})

t.test('the examples of a request are valid requests', async (t) => {
  const requests = new Set(operations.flatMap(({ request }) => request ?? []))
  requests.delete('requests/count-tokens-request.v1.json') // Of two files: it is checked where it is sent.
  for (const request of requests) {
    const { examples = [] } = readSchema(request)
    for (const example of Array.isArray(examples) ? examples : []) t.same(getValidator(request)(example), [], request)
  }
})

t.test('what creates nothing, as a revocation, has no 201', async (t) => {
  const statuses = operations
    .filter(({ method, path }) => method === 'post' && path.startsWith('/admin/'))
    .map(({ path, answers }) => [path, Object.keys(answers)])
  t.same(Object.fromEntries(statuses), {
    '/admin/v1/workspaces': ['200', '201'],
    '/admin/v1/workspaces/:id/adjustments': ['200', '201'],
    '/admin/v1/workspaces/:id/adjustments/:key/approve': ['200'],
    '/admin/v1/workspaces/:id/adjustments/:key/reject': ['200'],
    '/admin/v1/workspaces/:id/credits': ['200', '201'],
    '/admin/v1/workspaces/:id/suspend': ['200'],
    '/admin/v1/workspaces/:id/resume': ['200'],
    '/admin/v1/workspaces/:id/close': ['200'],
    '/admin/v1/keys': ['200', '201'],
    '/admin/v1/keys/:id/rotate': ['200', '201'],
    '/admin/v1/keys/:id/revoke': ['200'],
    '/admin/v1/periods/:id/close': ['200', '201'],
    '/admin/v1/periods/:id/reopen': ['200', '201'],
    '/admin/v1/invoices': ['200', '201'],
    '/admin/v1/prices': ['200', '201'],
    '/admin/v1/prices/import': ['200', '201'],
  })
})

t.test('reads of the ledger take the position of an earlier answer, and show theirs', async (t) => {
  const { paths } = JSON.parse(JSON.stringify(openapiDocument()))
  const name = 'X-Gateway-Ledger-Sequence'
  for (const path of [
    '/v1/ledger/wallet',
    '/v1/ledger/usage',
    '/v1/dashboard/billing/usage',
    '/admin/v1/ledger/health',
  ]) {
    const { parameters, responses } = paths[path].get
    t.match(
      parameters.find((each: { readonly name: string }) => each.name === name),
      { in: 'header' },
      path,
    )
    t.ok(Object.hasOwn(responses['200'].headers, name), path)
    t.match(responses['400'].description, /invalid_value/, path)
  }
  for (const path of ['/v1/models', '/v1/ledger/keys', '/v1/ledger/limits']) {
    const { parameters = [], responses } = paths[path].get
    t.notOk(Object.hasOwn(responses['200'].headers, name), path)
    t.notOk(
      parameters.some((each: { readonly name: string }) => each.name === name),
      path,
    )
  }
})
