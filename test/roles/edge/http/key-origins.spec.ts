import { hash } from 'node:crypto'
import t from 'tap'
import { errorOf, plainAsk, startEdge } from '../edge-fixture.ts'

const app = 'https://app.example'

t.test('a key with origins works for their scripts alone', async (t) => {
  const edge = await startEdge(t, {
    corsOrigins: [app],
    admins: [{ name: 'ops', sha256: hash('sha256', 'token'), role: 'owner' }],
  })
  const administer = async (path: string, body: object): Promise<Readonly<Record<string, string>>> => {
    const response = await edge.post(body, { authorization: 'Bearer token' }, `/admin/v1/keys${path}`)
    return (await response.json()) as Record<string, string>
  }
  const issued = await administer('', { workspace: 'acme', name: 'app', expires_at: '1h', origins: [app] })
  t.same(issued['origins'], [app])
  const lifetimeMs = Date.parse(issued['expires_at'] ?? '') - Date.now()
  t.ok(lifetimeMs > 3_500_000 && lifetimeMs <= 3_600_000, String(lifetimeMs))
  const rotated = await administer(`/${issued['id']}/rotate`, { grace_seconds: 60 })
  t.same(rotated['origins'], [app])

  for (const { secret } of [issued, rotated]) {
    const authorization = `Bearer ${secret}`
    t.equal((await edge.post(plainAsk, { authorization, origin: app })).status, 200)
    for (const headers of [
      { authorization },
      { authorization, origin: 'https://other.example' },
      { authorization, origin: 'null' },
      { authorization, origin: `${app}.evil.test` },
    ]) {
      const refused = await edge.post(plainAsk, headers)
      t.equal(refused.status, 403)
      t.match(await errorOf(refused), { code: 'access_denied', message: /works only for scripts of the pages/ })
    }
    for (const path of ['/v1/models', '/v1/ledger/wallet', '/v1/videos/none'])
      t.equal((await fetch(edge.url + path, { headers: { authorization } })).status, 403, path)
  }
  t.equal((await edge.post(plainAsk, { origin: 'https://other.example' })).status, 200, 'a key without origins')

  const bad = { authorization: 'Bearer token' }
  for (const body of [{ origins: [`${app}/`] }, { origins: ['*'] }, { origins: [] }, { expires_at: '0h' }])
    t.equal(
      (await edge.post({ workspace: 'acme', name: 'bad', ...body }, bad, '/admin/v1/keys')).status,
      400,
      JSON.stringify(body),
    )
})
