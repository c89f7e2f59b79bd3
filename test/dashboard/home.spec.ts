import { hash } from 'node:crypto'
import type { Page } from 'playwright-core'
import t from 'tap'
import { opened, routed, used } from '../roles/projector/facts.ts'
import { until } from '../support/clients.ts'
import { startTestGateway } from '../support/gateway.ts'
import { videoOptions } from '../support/video.ts'
import {
  axeViolations,
  findChromium,
  heading,
  openBrowser,
  openVisitor,
  rowsOf,
  signIn,
  toHash,
  withoutChromium,
} from './browser.ts'
import { failedFacts, refusedFacts, requestFacts, sayAgo } from './seed.ts'
import { adminToken, tablesCaughtUp } from './world.ts'

const chromium = findChromium()
const skip = chromium === null && withoutChromium
const utcDay = (): string => new Date().toISOString().slice(0, 10)

/** The bar of the last slot: today's. */
const clickLastBar = async (page: Page): Promise<void> => {
  const plot = page.locator('.chart .u-over').first()
  await plot.scrollIntoViewIfNeeded()
  const { width, height } = (await plot.boundingBox())!
  await plot.click({ position: { x: width - 4, y: height - 4 } })
}

t.test('all workspaces on the page', { skip }, async (t) => {
  const admins = [{ name: 'ana', sha256: hash('sha256', adminToken), role: 'owner' as const }]
  const world = await startTestGateway(t, videoOptions({}, { admins }))
  const { url } = world.gateway
  for (const [workspaceId, name] of [
    ['north', 'Northwind Traders'],
    ['south', 'Southridge Video'],
  ] as const)
    await sayAgo(world, 0, [
      { type: 'WorkspaceOpened', data: { workspaceId, name, creditLimit: '0' } },
      ...requestFacts(
        { workspaceId },
        { id: `of-${workspaceId}`, keyId: `key-${workspaceId}`, model: 'openai/gpt-5-mini', tokens: 5_000 },
      ),
    ])
  await sayAgo(world, 0, [
    ...failedFacts('south', 'key-south', 'failed-south'),
    ...refusedFacts('south', ['key-south']),
  ])
  await tablesCaughtUp(world)
  const { page, complaints } = await openVisitor(t, await openBrowser(chromium!), { width: 1_440 })
  page.setDefaultTimeout(30_000)
  await signIn(page, url, adminToken)
  await page.getByRole('table', { name: 'Spend by model' }).waitFor()

  await t.test('workspaces have their names', async (t) => {
    const chooser = page.getByLabel('Workspace', { exact: true })
    await until(async () => (await chooser.locator('option').allInnerTexts()).includes('Northwind Traders'))
    await page.getByLabel('Stacked by', { exact: true }).selectOption('workspace')
    await page.locator('.legend').getByText('Northwind Traders', { exact: true }).waitFor()
    await page
      .getByRole('table', { name: 'Spend by workspace' })
      .getByRole('link', { name: 'Southridge Video' })
      .waitFor()
    await chooser.selectOption({ label: 'Southridge Video' })
    await heading(page, 'Overview').waitFor()
    t.match(page.url(), /#\/w\/south$/)
  })

  await t.test('what was refused leads from the overview to the requests', async (t) => {
    const refused = page.locator('.facts div').filter({ hasText: 'Refused before routing' }).getByRole('link')
    t.equal(await refused.innerText(), '1,200')
    await refused.click()
    await page.getByRole('table', { name: 'Refused before routing' }).getByText('Rate limit exceeded').waitFor()
  })

  await t.test('a bar leads to the requests of its day, and so does the tile', async (t) => {
    for (const open of [() => clickLastBar(page), () => page.getByRole('link', { name: /^Today/ }).click()]) {
      await toHash(page, '#/home')
      await page.locator('.chart .u-over').waitFor()
      await page.getByRole('link', { name: /^Today/ }).waitFor()
      await open()
      await heading(page, 'Requests').waitFor()
      t.match(page.url(), new RegExp(`#/requests\\?from=${utcDay()}&to=${utcDay()}$`))
      await page.getByText('3 rows', { exact: true }).waitFor()
    }
    await toHash(page, '#/w/north/spend')
    await page.locator('.chart .u-over').waitFor()
    await clickLastBar(page)
    await heading(page, 'Charges').waitFor()
    t.match(page.url(), new RegExp(`from=${utcDay()}&to=${utcDay()}$`))
    await page.getByText('1 row', { exact: true }).waitFor()
  })

  await t.test('a failed request of any workspace is found by its id, and by that of the provider', async (t) => {
    await toHash(page, '#/requests')
    await page.getByText('3 rows', { exact: true }).waitFor()
    await page.getByLabel('Id', { exact: true }).fill('failed-south')
    await page.getByText('1 row', { exact: true }).waitFor()
    await rowsOf(page)
      .filter({ hasText: /failed-south\s*502[\s\S]*Southridge Video/ })
      .waitFor()
    await page.getByLabel('Id', { exact: true }).fill('req_1')
    await page.getByText(/^[23] rows$/).waitFor()
    t.same(await axeViolations(page), [])
    await page.getByRole('link', { name: 'of-north' }).click()
    await heading(page, 'One request').waitFor()
    t.match(page.url(), /#\/w\/north\/requests\/of-north$/)
    const back = await page.getByRole('link', { name: '← All requests' }).getAttribute('href')
    t.equal(back, '#/requests?id=req_1', 'back with the filter, to all workspaces')
  })

  await t.test('requests are shown before the names are read', async (t) => {
    const names = Promise.withResolvers<void>()
    await page.route('**/admin/v1/workspaces?*', async (route) => {
      await names.promise
      await route.continue()
    })
    await toHash(page, '#/requests')
    await page.getByText('3 rows', { exact: true }).waitFor()
    t.equal(await rowsOf(page).getByText('Southridge Video').count(), 0)
    names.resolve()
    await rowsOf(page).getByText('Southridge Video').first().waitFor()
    await page.unroute('**/admin/v1/workspaces?*')
  })

  await t.test('a key in the address is a filter that can be removed', async (t) => {
    await toHash(page, '#/requests?key=key-north')
    await page.getByText('1 row', { exact: true }).waitFor()
    t.same(await axeViolations(page), [])
    await page.getByRole('button', { name: 'Remove the filter: Key key-north' }).press('Enter')
    await page.getByText('3 rows', { exact: true }).waitFor()
    t.match(page.url(), /#\/requests$/)
    t.equal(await page.getByRole('button', { name: 'Remove the filter' }).count(), 0)
  })

  await t.test('what is not found is looked for further back when it is asked for', async (t) => {
    const cursors: (string | null)[] = []
    const isSearch = ({ pathname, searchParams }: URL) =>
      pathname === '/admin/v1/ledger/requests' && searchParams.has('upstream_request_id')
    await page.route(isSearch, async (route) => {
      const cursor = new URL(route.request().url()).searchParams.get('cursor')
      if (cursor !== null) cursors.push(cursor)
      const next = `page-${cursors.length + 1}`
      const isLast = cursors.length === 6
      const searched_to = isLast ? null : `2026-11-2${8 - cursors.length}T12:00:00.000Z`
      await route.fulfill({ json: { object: 'list', data: [], searched_to, next_cursor: isLast ? null : next } })
    })
    await toHash(page, '#/requests?id=unknown')
    const further = page.getByRole('button', { name: 'Search further back' })
    await further.waitFor()
    t.equal(cursors.length, 2, 'three pages are read')
    t.equal(await page.locator('[role=status] time').getAttribute('datetime'), '2026-11-26T12:00:00.000Z')
    t.equal(await page.getByText('No request here').isVisible(), false)
    t.same(await axeViolations(page), [])
    await further.press('Enter')
    await page.locator('[role=status] time[datetime="2026-11-23T12:00:00.000Z"]').waitFor()
    t.equal(cursors.length, 5)
    await page.keyboard.press('Enter')
    await page.getByText('No request here').waitFor()
    t.equal(await further.count(), 0)
    t.equal(await page.evaluate('document.activeElement.getAttribute("aria-label")'), 'Requests')
    await page.unroute(isSearch)
  })

  await t.test('a closed dialog of a secret leaves the page with what was done', async (t) => {
    await toHash(page, '#/w/north/keys')
    await page.getByRole('button', { name: 'Issue a key' }).click()
    await page.getByLabel('Name').fill('kept')
    await page.getByRole('dialog').locator('button[type=submit]').click()
    await page.getByLabel('I have copied it').check()
    await page.getByRole('button', { name: 'Done' }).click()
    await page.getByRole('dialog').waitFor({ state: 'detached' })
    await page.getByRole('status').getByText('The key kept: it is not shown again.').waitFor()
    t.notOk(await page.evaluate('document.activeElement === document.body'), 'the focus is where it was')
    await page.getByRole('table', { name: 'Keys' }).getByText('kept', { exact: true }).waitFor()
  })

  const now = new Date()
  const isEarly = now.getTime() < Date.UTC(now.getUTCFullYear(), now.getUTCMonth()) + 600_000
  const early = isEarly && 'the last month cannot be closed yet'
  await t.test('without a seller nothing can be invoiced, and the reason is shown', { skip: early }, async (t) => {
    const month = new Date(Date.UTC(now.getUTCFullYear(), now.getUTCMonth() - 1)).toISOString().slice(0, 7)
    const ids = { workspaceId: 'billed' }
    await sayAgo(world, (now.getTime() - Date.parse(`${month}-04`)) / 86_400_000, [
      { ...opened(), data: { ...opened().data, ...ids, name: 'Billed' } },
      routed('done', ids),
      used('done', { ...ids, total: '2.345' }),
    ])
    await tablesCaughtUp(world)
    await toHash(page, '#/months')
    await page.getByRole('button', { name: `Close ${month}` }).click()
    await page.getByRole('button', { name: 'Close the month' }).click()
    const invoice = page.getByRole('button', { name: `Invoice ${month}` })
    await invoice.waitFor()
    t.ok(await invoice.isDisabled())
    t.match(await invoice.getAttribute('title'), /^No seller is configured/)
    await page
      .getByText(/^No seller is configured/)
      .first()
      .waitFor()
    t.same(await axeViolations(page), [])
  })

  await t.test(
    'home and overview are refreshed while they are in sight, and what has the focus keeps it',
    async (t) => {
      const spend = async (id: string) => {
        await sayAgo(
          world,
          0,
          requestFacts({ workspaceId: 'north' }, { id, keyId: 'key-north', model: 'm/x', tokens: 1_000 }),
        )
        await tablesCaughtUp(world)
      }
      const focused = () => page.evaluate('document.activeElement.textContent')
      const note = page.locator('.heading .muted')
      let reads: URL[] = []
      page.on('request', (request) => {
        reads.push(new URL(request.url()))
      })
      /** A request that comes after those that a round of the refresh has made. */
      const readOnce = () => page.evaluate(`fetch('/dashboard/icon.svg').then(() => undefined)`)
      await page.clock.install()
      await toHash(page, '#/home')
      const today = page.getByRole('link', { name: /^Today/ })
      await page.getByRole('table', { name: 'Spend by model' }).waitFor()
      t.match(await today.innerText(), '2 requests charged')
      await today.focus()
      await page.evaluate('scrollTo(0, 80)')
      await page.evaluate(`Object.defineProperty(document, 'hidden', { value: true, configurable: true })`)
      await spend('later')
      reads = []
      await page.clock.fastForward(31_000)
      await readOnce()
      t.equal(reads.length, 1, 'nothing else is read while it is hidden')
      await page.evaluate(`delete document.hidden, document.dispatchEvent(new Event('visibilitychange'))`)
      await page.getByText('3 requests charged').first().waitFor()
      await page.getByRole('row', { name: /^m\/x 1 / }).waitFor()
      t.match(await focused(), /^Today.*3 requests/)
      t.equal(await page.evaluate('scrollY'), 80)
      t.same(await axeViolations(page), [])
      const over = new Date(Date.now() - 86_400_000).toISOString().slice(0, 7)
      const months = reads.flatMap(({ searchParams }) => searchParams.get('month') ?? [])
      t.same(
        months.filter((month) => month < over),
        [],
        'months that are over are not read again',
      )

      const outcomes = '**/ledger/outcomes'
      await page.route(outcomes, (route) => route.fulfill({ status: 500, json: {} }))
      await toHash(page, '#/w/north/overview')
      await page.getByText('Nothing is set aside right now.').waitFor()
      await page.getByRole('button', { name: 'Try again' }).focus()
      t.equal(await note.innerText(), '', 'no time beside what could not be read')
      await page.unroute(outcomes)
      await Promise.all([page.waitForResponse(outcomes), page.clock.fastForward(31_000)])
      await readOnce()
      t.equal(await note.innerText(), '', 'nor where what has the focus is left as it is')
      await page.getByRole('button', { name: 'Try again' }).press('Enter')
      await note.getByText('As of').waitFor()
      const charged = page.locator('.facts div').filter({ hasText: 'Charged' }).locator('dd')
      t.equal(await charged.innerText(), '0.006')
      await page.getByRole('button', { name: 'Add credit' }).click()
      await spend('latest')
      reads = []
      await page.clock.fastForward(31_000)
      await readOnce()
      t.equal(reads.length, 1, 'nothing else is read under a dialog')
      await page.keyboard.press('Escape')
      t.equal(await charged.innerText(), '0.006', 'not under a dialog')
      t.equal(await focused(), 'Add credit')
      await page.clock.fastForward(31_000)
      await charged.getByText('0.007', { exact: true }).waitFor()
      t.equal(await focused(), 'Add credit')
    },
  )
  t.same(complaints, [])
})
