import { hash } from 'node:crypto'
import { readFile } from 'node:fs/promises'
import type { Browser, Page } from 'playwright-core'
import t, { type Test } from 'tap'
import { issueKey, openWorkspace } from '../../src/commands/accounts.ts'
import { until } from '../clients.ts'
import { runtime, startTestGateway, type TestGateway } from '../gateway.ts'
import { credited } from '../roles/projector/facts.ts'
import { videoOptions } from '../video.ts'
import { findChromium, goTo, openBrowser, openVisitor, signIn, toHash, withoutChromium } from './browser.ts'
import { sayAgo } from './seed.ts'
import { adminToken, tablesCaughtUp } from './world.ts'

const workspaceId = 'zones'
const dayMs = 86_400_000
const day = '2026-03-10'
const nextDay = '2026-03-11'
/** Around a day of UTC; each zone below that counted days of its own would have another sum. */
const credits = [
  ['2026-03-09T10:30:00Z', '1'],
  [`${day}T00:00:00Z`, '2'],
  [`${day}T12:00:00Z`, '4'],
  [`${day}T23:59:00Z`, '8'],
  [`${nextDay}T00:00:00Z`, '16'],
  [`${nextDay}T06:00:00Z`, '32'],
] as const
const expiresAtMs = Date.parse('2031-03-04T12:00:00Z')
const timeZones = ['UTC', 'Pacific/Kiritimati', 'America/Los_Angeles', 'Asia/Kolkata']

interface World extends TestGateway {
  readonly secret: string
}

const openWorld = async (t: Test): Promise<World> => {
  const admins = [{ name: 'ana', sha256: hash('sha256', adminToken) }]
  const opened = await startTestGateway(t, videoOptions({}, { admins }))
  const { operator } = opened
  const { newId, randomText } = runtime
  await openWorkspace(operator, workspaceId, 'Zones', '0')
  const { secret } = await issueKey(operator, workspaceId, 'zoned', newId, randomText, expiresAtMs)
  for (const [at, amount] of credits) {
    const daysAgo = (Date.now() - Date.parse(at)) / dayMs
    await sayAgo(opened, daysAgo, [credited(at, amount, workspaceId)], workspaceId)
  }
  await tablesCaughtUp(opened)
  return { ...opened, secret }
}

const readAnswer = (page: Page) =>
  page.waitForResponse((response) => {
    const { pathname, searchParams } = new URL(response.url())
    return pathname.endsWith('/statement') && searchParams.has('from') && searchParams.has('to')
  })

const factText = (page: Page, name: string): Promise<string> =>
  page.locator('.facts div').filter({ hasText: name }).locator('dd').innerText()

const statementDays = (world: World, browser: Browser, timeZone: string) => async (t: Test) => {
  const { page } = await openVisitor(t, browser, { timeZone })
  await signIn(page, world.gateway.url, world.secret)
  await goTo(page, 'Statement')
  await page.getByLabel(/^From/).fill(day)
  const answer = readAnswer(page)
  await page.getByLabel(/^To/).fill(day)
  const response = await answer
  const { searchParams } = new URL(response.url())
  const { opening, closing } = (await response.json()) as Record<'opening' | 'closing', { readonly balance: string }>
  t.same([opening.balance, closing.balance], ['1', '15'])
  t.same([searchParams.get('from'), searchParams.get('to')], [day, nextDay])
  await page.getByText('3 rows', { exact: true }).waitFor()
  await until(async () => (await factText(page, 'Closing balance')) === '15.00')
  t.equal(await factText(page, 'Opening balance'), '1.00')
  t.same(await page.locator('.filters label').allInnerTexts(), ['From (UTC)', 'To, included (UTC)', 'Kind', 'Order'])
  t.ok(await page.getByText('Times in the table are in your time zone').isVisible())
  const saved = page.waitForEvent('download')
  await page.getByRole('button', { name: 'Export CSV' }).click()
  const download = await saved
  t.equal(download.suggestedFilename(), `statement-${workspaceId}-from-${day}-to-${day}-utc.csv`)
  const lines = (await readFile(await download.path(), 'utf8')).trim().split('\r\n').slice(1)
  t.same(
    lines.map((line) => line.replace(/:.*?Z,.*/, 'Z')),
    [`${day}T23Z`, `${day}T12Z`, `${day}T00Z`],
  )
}

const isCut = `[...document.querySelectorAll('.virtual tbody .wide-time')].some(
  ({ scrollWidth, clientWidth }) => scrollWidth > clientWidth)`

const yearsOnPhone = (world: World, browser: Browser) => async (t: Test) => {
  const { url } = world.gateway
  const { page } = await openVisitor(t, browser, { width: 375 })
  for (const [now, shown] of [
    ['2026-11-22T12:00:00Z', '11 Mar, 07:00'],
    ['2027-01-15T12:00:00Z', '11 Mar 2026, 07:00'],
  ] as const) {
    await page.clock.setFixedTime(now)
    await signIn(page, url, world.secret)
    await page.locator('.hero').waitFor()
    await toHash(page, '#/statement')
    const first = page.locator('.virtual tbody time').first()
    await first.waitFor()
    t.equal(await first.innerText(), shown)
    t.notOk(await page.evaluate(isCut), 'the whole time has its room')
  }
  await signIn(page, url, adminToken)
  await page.getByRole('heading', { name: 'Workspaces' }).waitFor()
  await toHash(page, `#/w/${workspaceId}/keys`)
  await page.getByText('04 Mar 2031, 13:00').waitFor()
}

const chromium = findChromium()

t.test('days on the page', { skip: chromium === null && withoutChromium, timeout: 240_000 }, async (t) => {
  const world = await openWorld(t)
  const browser = await openBrowser(t, chromium!)
  for (const timeZone of timeZones)
    await t.test(`a statement has days of UTC in ${timeZone}`, statementDays(world, browser, timeZone))
  await t.test('a date of another year has its year on a phone', yearsOnPhone(world, browser))
})
