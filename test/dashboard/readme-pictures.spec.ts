import { hash } from 'node:crypto'
import { readFileSync, writeFileSync } from 'node:fs'
import t from 'tap'
import { issueKey, openWorkspace } from '../../src/administration/account-changes.ts'
import type { Config } from '../../src/config/config.ts'
import { credited } from '../roles/projector/facts.ts'
import { until } from '../support/clients.ts'
import { runtime, startTestGateway, type TestGateway } from '../support/gateway.ts'
import { videoOptions } from '../support/video.ts'
import { findChromium, openBrowser, openVisitor, signIn, toHash } from './browser.ts'
import { requestFacts, sayAgo } from './seed.ts'
import { tablesCaughtUp } from './world.ts'

/** Where `make pictures` keeps them; without it none are taken. */
const folder = process.env['DASHBOARD_PICTURES'] ?? ''
const bytesMax = 120_000

const adminToken = 'the-token-of-the-readme-pictures'
const customers = [
  { id: 'northwind', name: 'Northwind Traders', credit: '900', share: 1 },
  { id: 'contoso', name: 'Contoso Retail', credit: '600', share: 0.62 },
  { id: 'fabrikam', name: 'Fabrikam Robotics', credit: '400', share: 0.27 },
] as const
const models = [
  { model: 'anthropic/claude-sonnet-5', tokens: 7_400_000 },
  { model: 'openai/gpt-5-mini', tokens: 4_100_000 },
  { model: 'google/gemini-2.5-flash', tokens: 1_900_000 },
] as const
const teams = ['search', 'support', 'billing']
const days = 35

/** Less at weekends, and more from week to week. */
const weightOf = (daysAgo: number): number => {
  const weekday = new Date(Date.now() - daysAgo * 86_400_000).getUTCDay()
  return (weekday % 6 === 0 ? 0.35 : 1) * (1.3 - daysAgo / 70) * (0.85 + ((daysAgo * 7) % 10) / 33)
}

const openCustomers = async ({ operator, config }: TestGateway): Promise<ReadonlyMap<string, string>> => {
  const keys = new Map<string, string>()
  for (const { id: workspaceId, name, credit } of customers) {
    await openWorkspace(operator, { workspaceId, name, creditLimitPicos: 0n })
    const { keyId } = await issueKey(operator, { workspaceId, name: 'production' }, runtime)
    keys.set(workspaceId, keyId)
    await sayAgo({ config }, days + 1, [credited('invoice-2026-117', credit, workspaceId)], workspaceId)
  }
  return keys
}

const spend = async (opened: TestGateway, keys: ReadonlyMap<string, string>): Promise<void> => {
  for (let daysAgo = days; daysAgo >= 0; daysAgo -= 1)
    await sayAgo(
      opened,
      daysAgo,
      customers.flatMap(({ id: workspaceId, share }) =>
        models.flatMap(({ model, tokens }, place) =>
          requestFacts(
            { workspaceId },
            {
              id: `${workspaceId}-${daysAgo}-${place}`,
              keyId: keys.get(workspaceId)!,
              model,
              tokens: Math.round(tokens * share * weightOf(daysAgo)),
              tags: { team: teams[place]! },
            },
          ),
        ),
      ),
    )
}

/** A request whose bill has several lines; its id. */
const askOnce = async ({ gateway, account }: TestGateway): Promise<string> => {
  const sandbox = 'prompt_tokens=12480;cached_tokens=9216;completion_tokens=1352;reasoning_tokens=640'
  const messages = [{ role: 'user', content: 'Which orders of last week are late, and why?' }]
  const response = await fetch(`${gateway.url}/v1/chat/completions`, {
    method: 'POST',
    headers: {
      authorization: `Bearer ${account.secret}`,
      'content-type': 'application/json',
      'x-gateway-tags': 'team=support',
    },
    body: JSON.stringify({ model: 'openai/gpt-5-mini', messages, metadata: { sandbox } }),
  })
  await response.body?.cancel()
  return response.headers.get('x-gateway-request-id') ?? ''
}

const chromium = findChromium()

t.test('the pictures of the README', { skip: (folder === '' || chromium === null) && 'not asked for' }, async (t) => {
  const prices = JSON.parse(readFileSync(new URL('../../prices.json', import.meta.url), 'utf8')) as Config['prices']
  const audit = { sealing: true, origin: 'gateway.example/ledger', signer: null, verifier: null, previous: [] }
  const admins = [{ name: 'ana', sha256: hash('sha256', adminToken), role: 'owner' as const }]
  const opened = await startTestGateway(t, {
    ...videoOptions({}, { prices, admins, audit, tagNames: ['team'] }),
    openAccount: (operator) => operator.openAccount('adventure-works', '250'),
  })
  await spend(opened, await openCustomers(opened))
  const requestId = await askOnce(opened)
  await tablesCaughtUp(opened)

  const { page } = await openVisitor(t, await openBrowser(chromium!), { width: 1_280 })
  await signIn(page, opened.gateway.url, adminToken)
  const session = await page.context().newCDPSession(page)
  for (const [name, address] of [
    ['home', '#/home'],
    ['charge', `#/w/adventure-works/charges/${requestId}`],
  ] as const) {
    await toHash(page, address)
    await until(async () => (await page.locator('.view h1').count()) > 0)
    await until(async () => (await page.locator('[aria-busy=true], .skeleton').count()) === 0)
    const { data } = await session.send('Page.captureScreenshot', { format: 'webp', quality: 70 })
    const picture = Buffer.from(data, 'base64')
    t.ok(picture.length <= bytesMax, `${name}: a small picture`)
    writeFileSync(`${folder}/readme-${name}.webp`, picture)
  }
})
