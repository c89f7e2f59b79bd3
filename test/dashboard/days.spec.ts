import { hash } from 'node:crypto'
import { readFile } from 'node:fs/promises'
import type { Browser, Page } from 'playwright-core'
import t, { type Test } from 'tap'
import { issueKey, openWorkspace } from '../../src/administration/account-changes.ts'
import { credited } from '../roles/projector/facts.ts'
import { until } from '../support/clients.ts'
import { runtime, startTestGateway, type TestGateway } from '../support/gateway.ts'
import { inLongForm } from '../support/long-form.ts'
import { videoOptions } from '../support/video.ts'
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
  const admins = [{ name: 'ana', sha256: hash('sha256', adminToken), role: 'owner' as const }]
  const opened = await startTestGateway(t, videoOptions({}, { admins }))
  const { operator } = opened
  await openWorkspace(operator, { workspaceId, name: 'Zones', creditLimitPicos: 0n })
  const { secret } = await issueKey(operator, { workspaceId, name: 'zoned', expiresAtMs }, runtime)
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
  t.same([searchParams.get('from'), searchParams.get('to')], [day, day])
  await page.getByText('3 rows', { exact: true }).waitFor()
  await until(async () => (await factText(page, 'Closing balance')) === '15.00')
  t.equal(await factText(page, 'Opening balance'), '1.00')
  t.same(await page.locator('.filters label').allInnerTexts(), ['From (UTC)', 'To, included (UTC)', 'Kind', 'Order'])
  t.ok(await page.getByText(/^Times are in \S+, in UTC on hover/).isVisible())
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

interface Label {
  readonly text: string
  readonly left: number
  readonly right: number
  readonly top: number
  readonly bottom: number
}

interface Drawn {
  readonly labels: readonly Label[]
  readonly width: number
  readonly height: number
}

/** Keeps what a chart writes since it was last cleared, and where. */
const keepingLabels = `(() => {
  const { clearRect, fillText } = CanvasRenderingContext2D.prototype
  globalThis.drawn = { labels: [] }
  CanvasRenderingContext2D.prototype.clearRect = function (...area) {
    globalThis.drawn = { labels: [], width: this.canvas.width, height: this.canvas.height }
    return clearRect.apply(this, area)
  }
  CanvasRenderingContext2D.prototype.fillText = function (text, x, y) {
    const box = this.measureText(text)
    globalThis.drawn.labels.push({
      text,
      left: x - box.actualBoundingBoxLeft,
      right: x + box.actualBoundingBoxRight,
      top: y - box.actualBoundingBoxAscent,
      bottom: y + box.actualBoundingBoxDescent,
    })
    return fillText.call(this, text, x, y)
  }
})()`

const gapPixels = 4
const isNear = (one: Label, other: Label): boolean =>
  one.left < other.right + gapPixels &&
  other.left < one.right + gapPixels &&
  one.top < other.bottom &&
  other.top < one.bottom

/** What is wrong with the labels of a chart, in words. */
const faultsOf = ({ labels, width, height }: Drawn): readonly string[] => {
  const cut = labels.filter(({ left, right, top, bottom }) => left < 0 || right > width || top < 0 || bottom > height)
  const pairs = labels.flatMap((one, place) =>
    labels.slice(place + 1).flatMap((other) => (isNear(one, other) ? [`${one.text} | ${other.text}`] : [])),
  )
  return [
    ...cut.map(({ text }) => `${text} is cut`),
    ...pairs.map((pair) => `${pair} overlap`),
    ...(labels.every(({ text }) => Number.isFinite(Number(text))) ? ['no day has a label'] : []),
  ]
}

const screens = [
  [320, 'en-GB'],
  [375, 'de-DE'],
  [1_280, 'en-GB'],
  [1_280, 'pt-BR'],
] as const

const amounts = ['0.000000000001', '0.0000012', '1.5', '123456789.12']

const routeUsage = (page: Page, amountOf: () => string, lastDay: string): Promise<unknown> =>
  page.route(/\/usage\?.*group_by=day/, (route) => {
    const first = Date.parse(new URL(route.request().url()).searchParams.get('from')!)
    const length = (Date.parse(lastDay) - first) / dayMs + 1
    const data = Array.from({ length }, (_, place) => ({
      day: new Date(first + place * dayMs).toISOString().slice(0, 10),
      requests: 1,
      tokens: {},
      net: amountOf(),
      ...{ total: '0', corrections: '0', fees: '0' },
    }))
    return route.fulfill({ json: { data, next_cursor: null } })
  })

const axisLabels = (world: World, browser: Browser, width: number, locale: string) => async (t: Test) => {
  const { page } = await openVisitor(t, browser, { width, locale })
  const lastDay = '2027-01-15'
  let amount = '1'
  await page.clock.setFixedTime(`${lastDay}T12:00:00Z`)
  await page.addInitScript(keepingLabels)
  await routeUsage(page, () => amount, lastDay)
  await signIn(page, world.gateway.url, world.secret)
  await page.locator('.hero').waitFor()
  await toHash(page, '#/spend')
  await page.locator('.chart canvas').waitFor()
  for (amount of amounts)
    for (const span of inLongForm(['7', '30', '90', '365'], (days) => days === '7' || days === '365')) {
      await page.evaluate('globalThis.drawn.labels = []')
      await page.getByLabel('Days (UTC)').selectOption(span)
      let drawn: Drawn | null = null
      await until(async () => {
        drawn = await page.evaluate('globalThis.drawn')
        return drawn !== null && drawn.labels.length > 0
      })
      t.same(faultsOf(drawn!), [], `${span} days of ${amount} USD`)
    }
}

const chromium = findChromium()

t.test('days on the page', { skip: chromium === null && withoutChromium }, async (t) => {
  const world = await openWorld(t)
  const browser = await openBrowser(chromium!)
  for (const timeZone of inLongForm(timeZones, (each) => each !== 'UTC' && each !== 'Asia/Kolkata'))
    await t.test(`a statement has days of UTC in ${timeZone}`, statementDays(world, browser, timeZone))
  await t.test('a date of another year has its year on a phone', yearsOnPhone(world, browser))
  for (const [width, locale] of inLongForm(screens, ([width, locale]) => width === 320 || locale === 'pt-BR'))
    await t.test(`no labels overlap in ${width} pixels, ${locale}`, axisLabels(world, browser, width, locale))
})
