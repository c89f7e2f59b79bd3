import { hash } from 'node:crypto'
import { readFile } from 'node:fs/promises'
import t from 'tap'
import { invoiceReconciled, opened, routed, used } from '../roles/projector/facts.ts'
import { startTestGateway } from '../support/gateway.ts'
import { videoOptions } from '../support/video.ts'
import {
  axeViolations,
  findChromium,
  goTo,
  heading,
  openBrowser,
  openVisitor,
  signIn,
  toHash,
  withoutChromium,
} from './browser.ts'
import { sayAgo } from './seed.ts'
import { adminToken, tablesCaughtUp } from './world.ts'

const dayMs = 86_400_000
const now = new Date()
const start = Date.UTC(now.getUTCFullYear(), now.getUTCMonth() - 1)
const month = new Date(start).toISOString().slice(0, 7)
const closableMs = Date.UTC(now.getUTCFullYear(), now.getUTCMonth()) + 600_000
const nextClosableMs = Date.UTC(now.getUTCFullYear(), now.getUTCMonth() + 1) + 600_000
const auditorToken = 'the-token-of-the-auditor-that-nobody-can-guess'
const chromium = findChromium()
const skip = chromium === null ? withoutChromium : now.getTime() < closableMs && 'the last month cannot be closed yet'

t.test('a month is closed and invoiced, and a balance adjusted, on the page', { skip }, async (t) => {
  const admins = [
    { name: 'ana', sha256: hash('sha256', adminToken), role: 'owner' as const },
    { name: 'eve', sha256: hash('sha256', auditorToken), role: 'auditor' as const },
  ]
  const invoicing = { seller: { name: 'Gateway GmbH', address: ['Berlin'] }, tax_rate: '19' }
  const world = await startTestGateway(t, videoOptions({}, { admins, invoicing }))
  const { url } = world.gateway
  const ids = { workspaceId: 'billed' }
  await sayAgo(world, (now.getTime() - start) / dayMs - 3, [
    { ...opened(), data: { ...opened().data, ...ids, name: 'Billed' } },
    routed('done', ids),
    used('done', { ...ids, total: '2.345' }),
    routed('open-at-its-end', ids),
    invoiceReconciled({ from: `${month}-01`, to: `${month}-10`, unreconciled: '0', differences: 0 }),
  ])
  await tablesCaughtUp(world)
  const { page, complaints } = await openVisitor(t, await openBrowser(chromium!))
  const button = (name: string) => page.getByRole('button', { name, exact: true })

  await signIn(page, url, adminToken)
  await goTo(page, 'Workspaces')
  await page
    .getByRole('row', { name: /Billed/ })
    .getByText('Open')
    .waitFor()
  await goTo(page, 'Months')
  await page.getByText('open-at-its-end').waitFor()
  await page.getByText('No month is closed yet.').waitFor()
  t.same(await axeViolations(page), [])
  await button(`Close ${month}`).click()
  await page.getByLabel('Close it with 1 open entries').check()
  await page.getByText('1 workspace, 2.345 USD in total.').waitFor()
  t.same(await axeViolations(page), [], 'a dialog')
  await button('Close the month').click()
  await page.getByText(`From ${new Date(nextClosableMs).toISOString().slice(0, 10)} 00:10 UTC on.`).waitFor()
  t.ok(await page.getByRole('button', { name: /^Close / }).isDisabled(), 'the running month cannot be closed yet')
  await button(`Invoice ${month}`).click()
  await page.getByText('1 invoice: 2.35 USD net, 2.80 USD with tax.').waitFor()
  await button('Issue the invoices').click()
  await button('Save INV-000001').waitFor()
  await page.getByText(`Nothing of ${month} is left to invoice.`, { exact: true }).first().waitFor()
  t.ok(await button(`Invoice ${month}`).isDisabled(), 'invoiced once')
  await page.getByRole('region', { name: 'Invoices' }).getByText('2.80').waitFor()
  t.same(await axeViolations(page), [], 'closed and invoiced')
  const [download] = await Promise.all([page.waitForEvent('download'), button('Save INV-000001').click()])
  const document = await readFile(await download.path(), 'utf8')
  t.match(document, /<h1>Invoice INV-000001<\/h1>/)
  const headers = { authorization: `Bearer ${adminToken}` }
  const shown = await (await fetch(`${url}/admin/v1/invoices/INV-000001`, { headers })).json()
  t.match(shown, { net: '2.35', tax: '0.45', gross: '2.80', digest: hash('sha256', document) })
  await button(`Reopen ${month}`).click()
  await page.getByLabel('Reason').fill('late')
  await button('Reopen the month').click()
  await page.getByText('was invoiced').waitFor()
  await page.keyboard.press('Escape')

  await toHash(page, '#/w/billed/overview')
  await button('Adjust').click()
  await page.getByLabel('Amount').fill('0.345')
  await page.getByLabel('Reason').selectOption('refund')
  await page.getByLabel('Reference').fill('ticket-118')
  await page.getByLabel('Of', { exact: true }).fill('done')
  t.same(await axeViolations(page), [], 'the adjustment')
  await button('Preview').click()
  await page.getByText(/The balance is .*2\.345 USD and becomes .*2\.00 USD/).waitFor()
  await page.getByRole('dialog').locator('button[type=submit]').click()
  await page.getByRole('dialog').waitFor({ state: 'detached' })
  await tablesCaughtUp(world)
  const listed = await (await fetch(`${url}/admin/v1/workspaces/billed/adjustments`, { headers })).json()
  t.match(listed, { data: [{ id: 'operator:ticket-118', amount: '0.345', reason: 'refund', of: 'done' }] })

  const fits = '!(document.documentElement.scrollWidth > innerWidth)'
  await toHash(page, '#/months')
  await page.setViewportSize({ width: 390, height: 900 })
  await page.emulateMedia({ colorScheme: 'dark' })
  const isByModel = ({ searchParams }: URL) => searchParams.get('group_by') === 'model'
  await page.route(isByModel, (route) => route.fulfill({ status: 500, json: {} }))
  await page
    .getByRole('region', { name: 'Closed months' })
    .getByRole('link', { name: month, exact: true })
    .press('Enter')
  await heading(page, `Month ${month} (UTC)`).waitFor()
  const fact = (name: string) => page.locator('.facts div').filter({ hasText: name }).locator('dd')
  const period = (await (await fetch(`${url}/admin/v1/periods/${month}`, { headers })).json()) as { digest: string }
  await page.getByText(period.digest, { exact: true }).waitFor()
  t.equal(await fact('By').innerText(), 'admin:ana')
  t.equal(await fact('Charges, USD').innerText(), '2.345')
  t.equal(await fact('Open when closed').innerText(), '1')
  await page.getByRole('region', { name: 'Invoices' }).getByText('INV-000001').waitFor()
  await page.getByText('Nothing was adjusted in this month.').waitFor()
  await page.unroute(isByModel)
  await button('Try again').click()
  t.match(await page.getByRole('row', { name: /openai/ }).innerText(), /In part\s+10 of \d\d/)
  t.ok(await page.evaluate(fits), 'the month fits a phone')
  t.same(await axeViolations(page), [], 'the month')
  await page.getByRole('link', { name: 'Period closed' }).click()
  await heading(page, 'Period closed').waitFor()
  await page.getByRole('link', { name: `Month ${month}` }).click()
  await page.getByRole('link', { name: 'billed', exact: true }).click()
  await heading(page, 'Statement').waitFor()
  t.equal(await page.getByLabel('From (UTC)').inputValue(), `${month}-01`, 'the statement of the month')
  await toHash(page, `#/months/${now.toISOString().slice(0, 7)}`)
  await page
    .getByRole('row', { name: /0\.345.*Refund/s })
    .getByRole('link', { name: 'done' })
    .waitFor()

  await page.setViewportSize({ width: 1_280, height: 900 })
  await signIn(page, url, auditorToken)
  await goTo(page, 'Months')
  await button('Save INV-000001').waitFor()
  t.equal(await page.getByRole('button', { name: /^(Close|Invoice|Reopen) / }).count(), 0, 'an auditor reads')
  await toHash(page, '#/w/billed/overview')
  await page.getByText('Credit limit').waitFor()
  t.equal(await button('Adjust').count(), 0)
  t.same(complaints, [])
})
