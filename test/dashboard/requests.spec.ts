import { readFile } from 'node:fs/promises'
import t from 'tap'
import {
  axeViolations,
  findChromium,
  goTo,
  openBrowser,
  openVisitor,
  rowsOf,
  signIn,
  toHash,
  withoutChromium,
} from './browser.ts'
import { failedFacts, requestFacts, sayAgo } from './seed.ts'
import { openWorld, tablesCaughtUp } from './world.ts'

const chromium = findChromium()

t.test('requests on the page', { skip: chromium === null && withoutChromium }, async (t) => {
  const world = await openWorld(t)
  const { account, keyId, url } = world
  const { page, complaints } = await openVisitor(t, await openBrowser(chromium!), { width: 1_900 })
  page.setDefaultTimeout(30_000)
  await signIn(page, url, account.secret)
  await goTo(page, 'Requests')
  await rowsOf(page).first().waitFor()

  await t.test('filters are in the address', async (t) => {
    await page.getByLabel('Status').selectOption('failed')
    await page.getByText('1 row', { exact: true }).waitFor()
    await page.getByLabel('Reason').fill('upstream_error')
    await page.waitForURL(/#\/requests\?status=failed&reason=upstream_error$/)
    await toHash(page, '#/requests?model=openai%2Fgpt-5-mini&surface=responses')
    await page.getByText('15 rows', { exact: true }).waitFor()
    t.equal(await page.getByLabel('Model').inputValue(), 'openai/gpt-5-mini')
    t.equal(await page.getByLabel('Surface').inputValue(), 'responses')
  })

  await t.test('a request is found by its id and by that of the provider', async (t) => {
    await toHash(page, '#/requests?id=request-3-1')
    await page.getByText('1 row', { exact: true }).waitFor()
    t.match(await rowsOf(page).first().innerText(), /request-3-1\s+200\s+Answered\s+anthropic\/claude-sonnet-5/)
    await page.getByLabel('Id').fill('request-4…1')
    await page.keyboard.press('Enter')
    await rowsOf(page).getByText('request-4-1').waitFor()
    await page.getByLabel('Id').fill('req_1')
    await page.keyboard.press('Enter')
    await page.getByText(/^4\d rows$/).waitFor()
    t.same(await axeViolations(page), [])
  })

  await t.test('a stream that broke off is neither answered nor failed', async (t) => {
    const broken = { id: 'request-broken', keyId, model: 'openai/gpt-5-mini', tokens: 9, brokenBy: 'network' }
    await sayAgo(world, 0, requestFacts(account, broken))
    await tablesCaughtUp(world)
    await toHash(page, '#/requests?status=failed%2Cinterrupted')
    await page.getByText('2 rows', { exact: true }).waitFor()
    t.match(await rowsOf(page).first().innerText(), /request-broken\s+Interrupted\s+after 30 tokens/)
    await page.getByLabel('Status').selectOption('interrupted')
    await page.getByText('1 row', { exact: true }).waitFor()
    await rowsOf(page).getByRole('link').click()
    await page.locator('.facts').getByText('Interrupted after 30 tokens').waitFor()
    await page.getByText('Interrupted: network').waitFor()
    t.same(await axeViolations(page), [])
  })

  await t.test('a failed request is titled as one, with its code, and leads back to the requests', async (t) => {
    await toHash(page, '#/charges/request-failed')
    await page.getByRole('heading', { level: 1, name: 'One request' }).waitFor()
    await page.locator('.facts').getByText('upstream_error', { exact: true }).waitFor()
    t.same(await axeViolations(page), [])
    await page.getByRole('link', { name: '← All requests' }).click()
    await page.getByRole('heading', { level: 1, name: 'Requests' }).waitFor()
  })

  await t.test('a charge is explained by the id of the provider', async (t) => {
    await toHash(page, '#/charges')
    await page.getByLabel('Explain by id').fill('req_1')
    await page.keyboard.press('Enter')
    await page.getByRole('heading', { level: 1, name: 'One charge, explained' }).waitFor()
    t.match(page.url(), /#\/charges\/request-/)
  })

  await t.test('a day and a model of the spend lead to their charges', async (t) => {
    await toHash(page, '#/spend')
    await page.getByText('Days as a table').click()
    await page.getByRole('region', { name: 'Spend by day, UTC' }).getByRole('link').first().click()
    await page.getByRole('heading', { level: 1, name: 'Charges' }).waitFor()
    t.match(page.url(), /#\/charges\?from=(\d{4}-\d\d-\d\d)&to=\1$/)
    await rowsOf(page).first().waitFor()
    await toHash(page, '#/spend')
    await page.getByRole('link', { name: 'openai/gpt-5-mini' }).click()
    await page.getByRole('heading', { level: 1, name: 'Charges' }).waitFor()
    await rowsOf(page).first().waitFor()
    t.equal(await page.getByLabel('Model').inputValue(), 'openai/gpt-5-mini')
    t.same(await axeViolations(page), [])
  })

  await t.test('new requests appear at the top', async (t) => {
    await toHash(page, '#/requests?status=failed')
    await page.getByText('1 row', { exact: true }).waitFor()
    await sayAgo(world, 0, [
      ...failedFacts(account.workspaceId, keyId, 'request-live'),
      ...requestFacts(account, { id: 'request-answered', keyId, model: 'openai/gpt-5-mini', tokens: 7 }),
    ])
    await tablesCaughtUp(world)
    await page.getByText('2 rows', { exact: true }).waitFor()
    t.match(await rowsOf(page).first().innerText(), 'request-live')
    t.match(await rowsOf(page).last().innerText(), 'request-failed')
  })

  await t.test('the keyboard goes from row to row, also while they are drawn anew and new ones come', async (t) => {
    await toHash(page, '#/requests')
    await page.getByText(/^\d\d rows$/).waitFor()
    const focusedRow = async () =>
      page.evaluate(`Number(document.activeElement.closest('tr')?.getAttribute('aria-rowindex'))`)
    await rowsOf(page).first().getByRole('link').focus()
    for (let row = 3; row <= 40; row += 1) {
      await page.keyboard.press('Tab')
      await page.evaluate('new Promise(requestAnimationFrame)')
      t.equal(await focusedRow(), row)
    }
    await page.locator('.virtual').evaluate((scroller) => scroller.scrollTo(0, 0))
    // The first rows are drawn with the next frame; the focus in another would scroll back to that, and nothing new would come.
    const second = page.locator('.virtual tr[aria-rowindex="3"]').getByRole('link')
    await second.focus()
    const focused = await second.getAttribute('href')
    await sayAgo(world, 0, failedFacts(account.workspaceId, keyId, 'request-later'))
    await rowsOf(page).filter({ hasText: 'request-later' }).waitFor()
    t.equal(await page.evaluate('document.activeElement.getAttribute("href")'), focused)
    t.equal(await focusedRow(), 4)
  })

  await t.test('what the filters choose is exported to the digit', async (t) => {
    await toHash(page, '#/requests?id=request-3-1')
    await page.getByText('1 row', { exact: true }).waitFor()
    const [download] = await Promise.all([
      page.waitForEvent('download'),
      page.getByRole('button', { name: 'Export CSV' }).click(),
    ])
    t.equal(download.suggestedFilename(), 'requests-acme.csv')
    const [head, row] = (await readFile(await download.path(), 'utf8')).split('\r\n')
    const headers = { authorization: `Bearer ${account.secret}` }
    const answer = await fetch(`${url}/v1/ledger/requests?id=request-3-1`, { headers })
    const [shown] = ((await answer.json()) as { readonly data: readonly { readonly total: string }[] }).data
    t.equal(row?.split(',')[head?.split(',').indexOf('total') ?? 0], shown?.total)
  })
  t.same(complaints, [])
})
