import type { Browser, Page } from 'playwright-core'
import t, { type Test } from 'tap'
import { adminOperations } from '../../src/administration/operations/table.ts'
import { type AdminRole, isPermitted, type Permission } from '../../src/http/admin-roles.ts'
import { until } from '../support/clients.ts'
import { inLongForm } from '../support/long-form.ts'
import { axeViolations, findChromium, openBrowser, openVisitor, signIn, toHash, withoutChromium } from './browser.ts'
import {
  adminToken,
  auditorToken,
  financeToken,
  openWorld,
  operatorToken,
  secondOwnerToken,
  supportToken,
  tablesCaughtUp,
  type World,
} from './world.ts'

const allTokens: readonly (readonly [AdminRole, string])[] = [
  ['owner', adminToken],
  ['operator', operatorToken],
  ['finance', financeToken],
  ['auditor', auditorToken],
  ['support', supportToken],
]
const tokens = inLongForm(allTokens, ([role]) => role === 'owner' || role === 'finance' || role === 'support')

/** Of each view with its address, what it takes. */
const views: readonly (readonly [hash: string, title: string, permission: Permission])[] = [
  ['#/home', 'Home', 'read_money'],
  ['#/workspaces', 'Workspaces', 'read'],
  ['#/prices', 'Prices', 'read'],
  ['#/routing', 'Routing', 'read'],
  ['#/plans', 'Plans', 'read'],
  ['#/months', 'Months', 'read_money'],
  ['#/alerts', 'Alerts', 'read_money'],
  ['#/webhooks', 'Webhooks', 'read_money'],
  ['#/audit', 'Audit trail', 'read_money'],
  ['#/health', 'Health', 'read'],
  ['#/w/acme/requests', 'Requests', 'read_money'],
  ['#/w/acme/keys', 'Keys and limits', 'read'],
  ['#/w/acme/account', 'Account', 'read'],
  ['#/w/empty/account', 'Account', 'read'],
]

/** Done by another one that has its button: `revoke`, the limits with nothing set, and the import of a price file. */
const alike: ReadonlySet<string> = new Set([
  'POST /admin/v1/prices',
  'DELETE /admin/v1/keys/{id}',
  'DELETE /admin/v1/workspaces/{id}/limits',
  'DELETE /admin/v1/workspaces/{id}/keys/{key}/limits',
])

/** What each has a button for: something that it can be done to. */
const prepare = async ({ url }: World): Promise<void> => {
  const send = async (method: string, path: string, body: object, token = adminToken): Promise<void> => {
    const headers = { authorization: `Bearer ${token}`, 'content-type': 'application/json' }
    const response = await fetch(`${url}/admin/v1/${path}`, { method, headers, body: JSON.stringify(body) })
    if (!response.ok) throw new Error(`${method} ${path}: ${await response.text()}`)
  }
  await send('PUT', 'plans/free', { price: '0' })
  await send('PUT', 'workspaces/acme/subscription', { plan: 'free' })
  await send('PUT', 'aliases/mini', { model: 'openai/gpt-5-mini' })
  await send('PUT', 'workspaces/acme/alert-rules/low', { measure: 'balance', threshold: '1', destinations: ['ops'] })
  await send('PUT', 'routers/auto', { candidates: ['openai/gpt-5-mini'], order: 'listed' })
  await send('POST', 'workspaces/empty/suspend', {})
  await send('POST', 'periods/2020-01/close', {})
  const adjustment = { amount: '2000', reason: 'goodwill', reference: 'ticket-1' }
  await send('POST', 'workspaces/acme/adjustments', adjustment, secondOwnerToken)
}

const settled = `document.querySelector('.view h1') !== null && document.querySelector('[aria-busy=true], .skeleton') === null`
const offeredHere = `[...document.querySelectorAll('[data-operation]')].map(({ dataset }) => dataset.operation)`

/** What the views have buttons for; a view that the role may not see says so. */
const visitAll = async (t: Test, page: Page, role: AdminRole): Promise<ReadonlySet<string>> => {
  const offered = new Set<string>()
  for (const [hash, title, permission] of views) {
    await toHash(page, hash)
    await until(() => page.evaluate(`location.hash === ${JSON.stringify(hash)} && ${settled}`))
    const isPermittedHere = isPermitted(role, permission)
    const links = page.getByRole('navigation').getByRole('link', { name: title, exact: true })
    t.equal(await links.count(), Number(isPermittedHere), `${role}: a link to ${hash}`)
    const refused = page.locator('[data-status="403"]')
    t.equal(
      await refused.count(),
      Number(!isPermittedHere),
      `${role}: ${hash} is ${isPermittedHere ? 'shown' : 'refused'}`,
    )
    if (!isPermittedHere && role === 'support') t.same(await axeViolations(page), [])
    for (const operation of (await page.evaluate(offeredHere)) as readonly string[]) offered.add(operation)
  }
  return offered
}

const operations = adminOperations.map(({ http: { method, path }, ...operation }) => ({
  ...operation,
  http: `${method.toUpperCase()} ${path.replaceAll(/[:*](\w+)/g, '{$1}')}`,
}))

const pageOf = async (t: Test, browser: Browser, world: World, token: string): Promise<Page> => {
  const { page } = await openVisitor(t, browser)
  page.setDefaultTimeout(20_000)
  await signIn(page, world.url, token)
  await page.locator('.view').waitFor()
  return page
}

const chromium = findChromium()

t.test(
  'each role is offered what the table of operations lets it do',
  { skip: chromium === null && withoutChromium },
  async (t) => {
    const world = await openWorld(t)
    await prepare(world)
    await tablesCaughtUp(world)
    const browser = await openBrowser(chromium!)
    const visit = async ([role, token]: (typeof tokens)[number]) =>
      [role, await visitAll(t, await pageOf(t, browser, world, token), role)] as const
    const offeredTo = new Map(await Promise.all(tokens.map(visit)))
    const all = offeredTo.get('owner')!
    t.same(
      operations
        .filter(({ http }) => !http.startsWith('GET') && !alike.has(http) && !all.has(http))
        .map(({ http }) => http),
      [],
      'every operation that changes something has its button',
    )
    for (const [role] of tokens)
      t.same(
        [...offeredTo.get(role)!].toSorted(),
        operations
          .filter(({ http }) => all.has(http))
          .filter(({ permission, memberPermissions = {} }) =>
            [permission, ...Object.values(memberPermissions)].some((each) => isPermitted(role, each)),
          )
          .map(({ http }) => http)
          .toSorted(),
        role,
      )
  },
)
