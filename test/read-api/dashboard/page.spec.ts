import t from 'tap'
import { dashboardFiles } from '../../../src/read-api/dashboard/files.ts'
import { startEdge } from '../../roles/edge/edge-fixture.ts'

const { url } = await startEdge(t)

t.test('the page lets nothing in and nothing out', async (t) => {
  for (const path of ['/dashboard', '/dashboard/', '/dashboard/main.js', '/dashboard/vendor/uplot.js']) {
    const { status, headers } = await fetch(url + path)
    t.equal(status, 200, path)
    const policy = headers.get('content-security-policy') ?? ''
    for (const directive of ["default-src 'none'", "script-src 'self'", "form-action 'none'", "frame-ancestors 'none'"])
      t.ok(policy.split('; ').includes(directive), directive)
    t.notMatch(policy, /unsafe|http|\*|data:/)
    t.match(Object.fromEntries(headers), {
      'x-content-type-options': 'nosniff',
      'referrer-policy': 'no-referrer',
      'cross-origin-opener-policy': 'same-origin',
      'cross-origin-resource-policy': 'same-origin',
      'cross-origin-embedder-policy': 'require-corp',
    })
    t.equal(headers.get('access-control-allow-origin'), null)
  }
})

t.test('nothing stands in the page that the policy would have to allow', async (t) => {
  const page = await (await fetch(`${url}/dashboard`)).text()
  t.notMatch(page, /<style|<script[^>]*>[^<]|style=|\son\w+=|https?:/)
})

t.test('every module is asked for at once, and not one after the other', async (t) => {
  const page = await (await fetch(`${url}/dashboard`)).text()
  const asked = [...page.matchAll(/(?:href|src)="(\/dashboard\/[^"]+\.js)"/g)].map(([, path]) => path)
  const served = [...dashboardFiles().keys()].filter((path) => path.endsWith('.js'))
  t.same(asked.toSorted(), served.toSorted())
})

t.test('every file has its type, and is kept until it changes', async (t) => {
  const types = {
    '/dashboard': 'text/html',
    '/dashboard/main.js': 'text/javascript',
    '/dashboard/views/overview.js': 'text/javascript',
    '/dashboard/styles.css': 'text/css',
    '/dashboard/vendor/uplot.css': 'text/css',
    '/dashboard/icon.svg': 'image/svg+xml',
  }
  for (const [path, type] of Object.entries(types)) {
    const first = await fetch(url + path)
    t.equal(first.headers.get('content-type')?.split(';')[0], type, path)
    const kept = { 'if-none-match': first.headers.get('etag') ?? '', 'cache-control': 'max-age=0' }
    t.equal((await fetch(url + path, { headers: kept })).status, 304)
    const head = await fetch(url + path, { method: 'HEAD' })
    t.equal(head.headers.get('content-length'), first.headers.get('content-length'))
  }
})

t.test('no other file is there, whatever a path says', async (t) => {
  const paths = [
    '/dashboard/tsconfig.json',
    '/dashboard/types.d.ts',
    '/dashboard/vendor/uplot.d.ts',
    '/dashboard/../package.json',
    '/dashboard/%2e%2e/package.json',
    '/dashboard/..%2fpackage.json',
    '/dashboard//main.js',
    '/dashboard/vendor/../../package.json',
    '/dashboard/vendor/uPlot.esm.js',
    '/Dashboard',
  ]
  for (const path of paths) t.equal((await fetch(url + path)).status, 404, path)
  t.equal((await fetch(`${url}/dashboard`, { method: 'POST' })).status, 404)
  t.equal((await fetch(`${url}/dashboard/billing/usage`)).status, 401, 'the billing endpoint stays')
})
