import { hash } from 'node:crypto'
import { readFile } from 'node:fs/promises'
import t from 'tap'
import { opened, routed, used } from '../roles/projector/facts.ts'
import { startTestGateway } from '../support/gateway.ts'
import { videoOptions } from '../support/video.ts'
import {
  axeViolations,
  findChromium,
  goTo,
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

  await signIn(page, url, auditorToken)
  await goTo(page, 'Months')
  await button('Save INV-000001').waitFor()
  t.equal(await page.getByRole('button', { name: /^(Close|Invoice|Reopen) / }).count(), 0, 'an auditor reads')
  await toHash(page, '#/w/billed/overview')
  await page.getByText('Credit limit').waitFor()
  t.equal(await button('Adjust').count(), 0)
  t.same(complaints, [])
})
