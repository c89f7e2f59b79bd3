import type { Page } from 'playwright-core'
import t from 'tap'
import { until } from '../support/clients.ts'
import { isLong } from '../support/long-form.ts'
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
import { adminToken, financeToken, openWorld, tablesCaughtUp } from './world.ts'

const chromium = findChromium()

const submit = (page: Page) => page.getByRole('dialog').locator('button[type=submit]').click()
const closed = (page: Page) => page.getByRole('dialog').waitFor({ state: 'detached' })

t.test('what an administrator changes on the page', { skip: chromium === null && withoutChromium }, async (t) => {
  const world = await openWorld(t)
  const browser = await openBrowser(chromium!)
  const { page, complaints } = await openVisitor(t, browser)
  const button = (name: string) => page.getByRole('button', { name, exact: true })
  const read = async (path: string): Promise<unknown> =>
    (await fetch(`${world.url}/admin/v1/${path}`, { headers: { authorization: `Bearer ${adminToken}` } })).json()
  page.setDefaultTimeout(20_000)
  await page.goto(world.url)
  t.equal(page.url(), `${world.url}/dashboard`, '/ leads to the page')
  await signIn(page, world.url, adminToken)

  await t.test('home has the spend of all workspaces to the digit', async (t) => {
    interface Report {
      readonly rows: readonly {
        readonly group: { readonly day: string; readonly model: string }
        readonly net: string
      }[]
      readonly total: { readonly net: string; readonly requests: number }
    }
    const { rows, total } = (await read('reports?group_by=day,model')) as Report
    const tile = page.getByRole('link', { name: /^This month/ })
    await tile.waitFor()
    t.match(await tile.innerText(), total.net)
    t.match(await tile.innerText(), `${total.requests} requests`)
    const today = rows.find(({ group }) => group.day === new Date().toISOString().slice(0, 10))
    t.match(await page.getByRole('link', { name: /^Today/ }).innerText(), today?.net)
    const outcomes = (await read('ledger/outcomes')) as { readonly requests: number; readonly failed: number }
    const errors = await page.getByRole('link', { name: /^Errors/ }).innerText()
    t.match(errors, `${outcomes.failed} of ${outcomes.requests} requests`)
    t.match(await page.getByRole('link', { name: /^First token/ }).innerText(), /\d ms\n.*median of \d+ streams/s)
    await page
      .getByRole('row', { name: /openai\/gpt-5-mini/ })
      .first()
      .waitFor()
    await page.getByLabel('Stacked by', { exact: true }).selectOption('provider')
    await page.getByRole('row', { name: /^anthropic \d+ [\d.]+$/ }).waitFor()
    for (const interval of ['hour', 'week', 'month']) {
      await page.getByLabel('Interval').selectOption(interval)
      await until(async () => (await page.locator('.legend li').count()) >= 2)
      if (isLong) t.same(await axeViolations(page), [], interval)
    }
    await page.getByLabel('Stacked by', { exact: true }).selectOption('tag')
    await page.getByLabel('Tag’s name').fill('team')
    await page.keyboard.press('Enter')
    await page.getByRole('row', { name: /^search/ }).waitFor()
    await page.getByRole('link', { name: /^Exceptions: / }).click()
    await page.getByRole('heading', { level: 1, name: 'Exceptions' }).waitFor()
  })

  await t.test('a workspace is opened; a refusal is shown at its field', async (t) => {
    await toHash(page, '#/workspaces')
    await button('Open a workspace').click()
    await page.getByLabel('Id', { exact: true }).fill('Globex')
    await submit(page)
    t.equal(await page.locator('dialog input:invalid').count(), 1, 'its pattern is checked')
    await page.getByLabel('Id', { exact: true }).fill('globex')
    await page.getByLabel('Credit limit').fill('50')
    t.same(await axeViolations(page), [])
    await submit(page)
    await page.getByRole('heading', { level: 1, name: 'Keys and limits' }).waitFor()
    await page.getByRole('status').getByText('Workspace globex opened.').waitFor()
    t.match(await read('workspaces/globex'), { credit_limit: '50', status: 'open' })
  })

  await t.test('credit is previewed, added and listed with who added it', async (t) => {
    await goTo(page, 'Account')
    await button('Add credit').click()
    await page.getByLabel('Amount').fill('0')
    await submit(page)
    t.equal(await page.locator('dialog :invalid[required]').count(), 1, 'a reference is required')
    await page.getByLabel('Reference').fill('invoice-117')
    await submit(page)
    await page.getByText('The amount must be above zero.').waitFor()
    await page.getByLabel('Amount').fill('250.000000000001')
    await page.getByLabel('Reference').fill('invoice-117')
    await submit(page)
    await page.getByText('250.000000000001 USD.').waitFor()
    t.match(await read('workspaces/globex'), { balance: '0' }, 'a preview changes nothing')
    await page.getByLabel('Amount').fill('250')
    await button('Preview').click()
    await page.getByText('becomes 250.00 USD').waitFor()
    await submit(page)
    await closed(page)
    await page.getByRole('status').getByText('250.00 USD credited.').waitFor()
    t.match(await read('workspaces/globex'), { balance: '250' })
    await tablesCaughtUp(world)
    await toHash(page, '#/audit')
    await page.getByRole('row', { name: /admin:ana.*Wallet credited.*globex/ }).waitFor()
    t.same(await axeViolations(page), [])
  })

  await t.test('what is emptied is removed, where it can be', async (t) => {
    await toHash(page, '#/w/globex/account')
    const customer = page.locator('.facts div').filter({ hasText: 'Account' }).locator('dd')
    for (const [account, shown] of [
      ['globex-corp', 'globex-corp'],
      ['', 'none'],
    ] as const) {
      await button('Change').click()
      await page.getByLabel('Account').fill(account)
      await submit(page)
      await closed(page)
      await customer.getByText(shown, { exact: true }).waitFor()
    }
    await button('Change').click()
    await page.getByLabel('Name').fill('')
    await submit(page)
    t.equal(await page.locator('dialog :invalid[required]').count(), 1, 'a workspace has a name')
    await page.keyboard.press('Escape')
  })

  await t.test(
    'a change is opened from the audit trail, with what was before it and where it is in the log',
    async (t) => {
      await tablesCaughtUp(world)
      await toHash(page, '#/audit')
      await page.getByLabel('Workspace’s id').fill('globex')
      await page.keyboard.press('Tab')
      await page.getByText('4 rows', { exact: true }).waitFor()
      await page.getByRole('link', { name: 'Wallet credited' }).press('Enter')
      await heading(page, 'Wallet credited').waitFor()
      const fact = (name: string) => page.locator('.facts div').filter({ hasText: name }).locator('dd')
      await fact('Balance after').getByText('250.00', { exact: true }).waitFor()
      t.equal(await fact('Balance before').innerText(), '0.00')
      t.equal(await fact('Who').innerText(), 'admin:ana')
      const { data } = (await read('events?workspace=globex&type=WalletCredited')) as {
        readonly data: readonly { readonly id: string; readonly sequence: number; readonly index: number }[]
      }
      t.equal(await fact('Event').innerText(), data[0]?.id)
      await page.getByText(`gateway prove ${data[0]?.sequence} --index ${data[0]?.index}`).waitFor()
      t.same(await axeViolations(page), [])
      await page.getByRole('link', { name: '← Audit trail' }).click()
      t.equal(await page.getByLabel('Workspace’s id').inputValue(), 'globex', 'back with the filter')
      await page.setViewportSize({ width: 390, height: 900 })
      await page.emulateMedia({ colorScheme: 'dark' })
      await page.getByRole('link', { name: 'Workspace changed' }).first().click()
      await heading(page, 'Workspace changed').waitFor()
      await page.getByRole('row', { name: /Account.*globex-corp.*not set/ }).waitFor()
      await page.getByText('it was set').waitFor()
      t.notOk(await page.evaluate('document.documentElement.scrollWidth > innerWidth'), 'it fits a phone')
      t.same(await axeViolations(page), [])
      await page.setViewportSize({ width: 1_280, height: 900 })
      await page.emulateMedia({ colorScheme: 'light' })

      const { hash } = new URL(page.url())
      let pages = 0
      let isFull = true
      const isEarlier = ({ pathname, searchParams }: URL) =>
        pathname === '/admin/v1/events' && searchParams.get('type') === 'WorkspaceChanged,WorkspaceOpened'
      await page.route(isEarlier, async (route) => {
        pages += 1
        if (isFull || pages === 1) await route.fulfill({ json: { object: 'list', data: [], next_cursor: 'next' } })
        else await route.continue({ url: route.request().url().replace('cursor=next&', '') })
      })
      const isHealth = '**/admin/v1/ledger/health'
      await page.route(isHealth, (route) => route.fulfill({ status: 503, json: {} }))
      await toHash(page, '#/audit')
      await toHash(page, hash)
      await page.getByText('What set it before is not among the last 5,000 changes of its kind.').waitFor()
      t.equal(pages, 5)
      t.equal(await fact('Sealed').innerText(), 'Not known', 'also where the health cannot be read')
      t.equal(await page.getByText('gateway prove').count(), 0)
      isFull = false
      pages = 0
      await toHash(page, '#/audit')
      await toHash(page, hash)
      await page.getByText('it was set').waitFor()
      t.equal(pages, 2, 'its second page has it')
      await page.unroute(isEarlier)
      await page.unroute(isHealth)
    },
  )

  await t.test('an adjustment above the amount waits for another administrator', async (t) => {
    await toHash(page, '#/w/globex/account')
    for (const [amount, reason, reference] of [
      ['2000', 'goodwill', 'ticket-1'],
      ['-1000.01', 'chargeback', 'ticket-2'],
    ] as const) {
      await button('Adjust').click()
      await page.getByLabel('Amount').fill(amount)
      t.equal(await page.getByLabel('Reason').inputValue(), '', 'none is chosen in advance')
      await page.getByLabel('Reason').selectOption(reason)
      await page.getByLabel('Reference').fill(reference)
      await submit(page)
      await page.getByText('becomes').waitFor()
      await submit(page)
      await closed(page)
      await page.getByRole('status').getByText('proposed: it waits for another administrator.').waitFor()
    }
    t.match(await read('workspaces/globex'), { balance: '250' })
    await page.getByRole('row', { name: /2,000\.00 goodwill ticket-1 .*admin:ana/ }).waitFor()
    t.equal(await button('Approve ticket-1').count(), 0, 'by another than who proposed it')
    t.same(await axeViolations(page), [])
    await button('Withdraw ticket-2').click()
    await submit(page)
    await closed(page)
    await button('Withdraw ticket-2').waitFor({ state: 'detached' })

    await signIn(page, world.url, financeToken)
    await button('Approve ticket-1').click()
    t.same(await axeViolations(page), [])
    await submit(page)
    await closed(page)
    t.match(await read('workspaces/globex'), { balance: '2250' })
    await button('Approve ticket-1').waitFor({ state: 'detached' })
    await signIn(page, world.url, adminToken)
  })

  await t.test('an alert rule is set, changed and removed', async (t) => {
    await toHash(page, '#/alerts')
    await button('Set a rule').click()
    await page.getByRole('dialog').getByLabel('Workspace', { exact: true }).fill('globex')
    await page.getByRole('dialog').getByLabel('Name', { exact: true }).fill('low')
    await page.getByLabel('Measure').selectOption('balance')
    await page.getByLabel('Threshold').fill('5')
    await page.getByRole('dialog').getByLabel('Destinations').fill('ops')
    t.same(await axeViolations(page), [])
    await submit(page)
    await closed(page)
    await page.getByRole('row', { name: /globex low Balance .*2,250\.00 USD 5\.00 USD ops/ }).waitFor()
    await button('Change low of globex').click()
    await page.getByLabel('Threshold').fill('3000')
    await submit(page)
    await closed(page)
    interface Rules {
      readonly data: readonly { readonly threshold: string; readonly alerts: readonly { readonly figure: string }[] }[]
    }
    const rules = async () => (await read('alert-rules?workspace=globex')) as Rules
    t.match(await rules(), { data: [{ threshold: '3000', destinations: ['ops'] }] })
    t.same(await axeViolations(page), [])
    await until(async () => (await rules()).data[0]?.alerts.length === 1)
    const figure = Number((await rules()).data[0]?.alerts[0]?.figure).toLocaleString('en', { minimumFractionDigits: 2 })
    for (const [hash, row] of [
      ['#/home', `globex low Balance 3,000.00 USD ${figure} USD`],
      ['#/w/globex/overview', `globex low Balance 3,000.00 USD ${figure} USD`],
    ] as const) {
      await toHash(page, hash)
      await page.getByRole('table', { name: 'Raised alerts' }).getByRole('row', { name: row }).waitFor()
      if (isLong) t.same(await axeViolations(page), [], hash)
    }
    await page.getByRole('link', { name: 'Last alerts, 7 days' }).click()
    await page.getByRole('heading', { level: 1, name: 'Alerts' }).waitFor()
    await button('Change low of globex').click()
    await page.getByLabel('Measure').selectOption('error_rate')
    await page.getByLabel('Threshold').fill('50')
    await submit(page)
    await closed(page)
    await page
      .getByRole('row', { name: new RegExp(`globex low Error rate .*50 % ops ${figure.replace('.', '\\.')} USD`) })
      .waitFor()
    await toHash(page, '#/home')
    await page.getByRole('row', { name: `globex low Balance 3,000.00 USD ${figure} USD` }).waitFor()
    await toHash(page, '#/alerts')
    await button('Remove low of globex').click()
    await submit(page)
    await closed(page)
    t.match(await read('alert-rules?workspace=globex'), { data: [] })
  })

  await t.test('limits of a model are fields of their own', async (t) => {
    await toHash(page, '#/w/acme/keys')
    await button('Change the limits of the workspace').click()
    await button('Add a model').click()
    await page.getByLabel('Model', { exact: true }).fill('openai/plain')
    await page.getByLabel('Tokens per minute').last().fill('9000')
    t.same(await axeViolations(page), [])
    await button('Add a model').click()
    const second = page.getByLabel('Model', { exact: true }).last()
    for (const [name, message] of [
      ['openai/plain ', 'Another row has this name.'],
      [' ', 'Enter a name.'],
    ] as const) {
      await second.fill(name)
      await submit(page)
      t.equal(await page.evaluate('document.querySelector("dialog input:invalid").validationMessage'), message)
    }
    await second.fill('openai/plain')
    await button('Remove the model').first().click()
    t.equal(await page.locator('dialog input:invalid').count(), 0, 'its name is its own again')
    await page.getByLabel('Tokens per minute').last().fill('9000')
    await submit(page)
    await closed(page)
    const limits = await read('workspaces/acme/limits')
    t.match(limits, { data: [{ limits: { models: { 'openai/plain': { tokens_per_minute: 9000 } } } }] })
    await page.getByText('limits of openai/plain').first().waitFor()
    await button('Change the limits of the workspace').click()
    t.equal(await page.getByLabel('Model', { exact: true }).inputValue(), 'openai/plain')
    await button('Remove the model').click()
    await submit(page)
    await closed(page)
    t.notMatch(await read('workspaces/acme/limits'), { data: [{ limits: { models: {} } }] })
    await page.getByText('Limits: none').first().waitFor() // The next form has what the page shows.
  })

  await t.test('limits of a tag are its own, and the workspace keeps its', async (t) => {
    const pace = page.getByLabel('Requests per minute').first()
    const changePace = async (before: string, after: string) => {
      await button('Change the limits of the workspace').click()
      t.equal(await pace.inputValue(), before)
      await pace.fill(after)
      await submit(page)
      await closed(page)
    }
    await toHash(page, '#/w/acme/keys')
    await changePace('', '700')
    await button('Limit a tag').click()
    await page.getByLabel('Tag', { exact: true }).fill('search')
    await page.getByLabel('Day', { exact: true }).fill('5')
    await submit(page)
    await page.locator('dialog [aria-invalid=true]').waitFor()
    await page.getByLabel('Tag', { exact: true }).fill('team=search')
    await submit(page)
    await closed(page)
    await page.getByRole('status').getByText('no request can have this tag').waitFor()
    await page.getByRole('row', { name: /team=search 5\.00 USD a UTC day/ }).waitFor()
    await page.getByText('Limits: requests a minute 700').waitFor()
    if (isLong) t.same(await axeViolations(page), [])
    await changePace('700', '')
    await page.getByText('Limits: requests a minute 700').waitFor({ state: 'detached' })
    t.equal(await page.locator('.view section').first().locator('p').innerText(), 'Limits: none')
    await button('Remove the limits of team=search').click()
    await submit(page)
    await closed(page)
    await page.getByText('No tag and no end user has a limit.').waitFor()
  })

  await t.test('the overview has limits with what is used of them, to the digit', async (t) => {
    const path = `workspaces/acme/keys/${world.keyId}/limits`
    const headers = { authorization: `Bearer ${adminToken}`, 'content-type': 'application/json' }
    const body = JSON.stringify({ spend: { month: '50.5', total: '100' } })
    t.equal((await fetch(`${world.url}/admin/v1/${path}`, { method: 'PUT', headers, body })).status, 200)
    const { data } = (await read('workspaces/acme/limits')) as {
      readonly data: readonly { readonly key: string | null; readonly spent: Record<string, string> }[]
    }
    const spent = data.find(({ key }) => key === world.keyId)?.spent
    await toHash(page, '#/w/acme/overview')
    const ofKey = await openVisitor(t, browser)
    await signIn(ofKey.page, world.url, world.account.secret)
    const digits = (text: string | undefined) =>
      text
        ?.trim()
        .replace(/(\.\d*?)0+$/, '$1')
        .replace(/\.$/, '')
    for (const visitor of [page, ofKey.page]) {
      const rows = visitor.getByRole('table', { name: 'Spend limits' }).getByRole('row')
      await rows.first().waitFor()
      const cells = await Promise.all([1, 2].map((row) => rows.nth(row).getByRole('cell').allInnerTexts()))
      t.same(
        cells.map(([, span, used, held, limit]) => [span, digits(used), digits(held), digits(limit)]),
        [
          ['UTC month', digits(spent?.['month']), '0', '50.5'],
          ['ever', digits(spent?.['total']), '0', '100'],
        ],
      )
      if (isLong) t.same(await axeViolations(visitor), [])
    }
    const links = (visitor: Page) => visitor.locator('main').getByRole('link', { name: 'Keys and limits' }).count()
    t.same([await links(page), await links(ofKey.page)], [1, 0], 'only an administrator is led to where they are set')
  })

  await t.test('why a callback was not accepted is listed, and not among the changes', async (t) => {
    const failure = { taskId: 'task_failed', workspaceId: 'acme', tries: 5, reason: 'status 500', givenUp: true }
    await sayAgo(world, 0, [{ type: 'CallbackFailed', data: failure }])
    await tablesCaughtUp(world)
    await toHash(page, '#/webhooks')
    const row = page.getByRole('table', { name: 'Failed callbacks' }).getByRole('row', { name: 'task_failed' })
    t.match(await row.innerText(), /acme\s+task_failed\s+Given up\s+Status 500, try 5/)
    t.equal(await row.getByRole('link').getAttribute('href'), '#/w/acme/charges/task_failed')
    await toHash(page, '#/audit')
    await page.getByRole('row', { name: 'Wallet credited' }).first().waitFor()
    t.equal(await page.getByText('Callback failed').count(), 0)
  })

  await t.test('it is suspended, resumed and closed', async (t) => {
    await toHash(page, '#/w/globex/account')
    for (const [label, status] of [
      ['Suspend', 'suspended'],
      ['Resume', 'open'],
      ['Close', 'closed'],
    ] as const) {
      await page.getByRole('button', { name: new RegExp(`^${label} `) }).click()
      if (status === 'closed') await page.getByRole('dialog').getByText('It cannot be opened again').waitFor()
      await submit(page)
      await closed(page)
      t.match(await read('workspaces/globex'), { status })
    }
  })

  await t.test('plans, aliases and routers', async (t) => {
    await toHash(page, '#/plans')
    await button('Publish a plan').click()
    await page.getByLabel('Id', { exact: true }).fill('pro')
    await page.getByLabel('Price').fill('20')
    await page.getByLabel('Included credit').fill('5')
    await page.getByLabel('Requests per minute').first().fill('600')
    t.same(await axeViolations(page), [])
    await submit(page)
    await page.getByRole('row', { name: /pro.*20\.00.*Month.*5\.00.*requests a minute 600/ }).waitFor()
    await toHash(page, '#/w/empty/account')
    await button('Give it a plan').click()
    await page.getByLabel('Plan', { exact: true }).fill('pro')
    await submit(page)
    await page.getByText('The fee of 20.00 USD is charged now, and 5.00 USD of credit is given.').waitFor()
    await submit(page)
    await page.getByRole('alert').waitFor()
    t.match(await page.getByRole('alert').innerText(), /is not covered/, 'the fee is more than its wallet has')
    await page.keyboard.press('Escape')

    await toHash(page, '#/routing')
    await page.getByRole('row', { name: /^openai Failing 1 100\.0 % .*500 Server error/ }).waitFor()
    await button('Set an alias').click()
    await page.getByLabel('Id', { exact: true }).fill('mini')
    await page.getByLabel('Model').fill('openai/no-price-yet')
    await submit(page)
    await page.getByRole('row', { name: /mini.*openai\/no-price-yet.*Administration/ }).waitFor()
    await button('Set a router').click()
    await page.getByLabel('Id', { exact: true }).fill('cheap')
    await page.getByLabel('Model').fill('openai/gpt-4o-mini')
    await page.getByLabel('Weight').fill('3')
    await button('Add a candidate').click()
    await page.getByLabel('Model').last().fill(' ')
    await button('Add a candidate').click()
    await page.getByLabel('Model').last().fill('absent/not-there')
    await page.getByLabel('Order').selectOption('weighted')
    await submit(page)
    await page.locator('dialog [aria-invalid=true]').waitFor()
    t.equal(
      await page.locator('dialog [aria-invalid=true]').inputValue(),
      'absent/not-there',
      'the one that is refused',
    )
    await button('Remove the candidate').nth(1).click()
    await page.getByLabel('Model').last().fill('openai/gpt-5-mini')
    await submit(page)
    await page.getByRole('row', { name: /gateway\/cheap.*openai\/gpt-4o-mini weight 3/ }).waitFor()
    await page.getByLabel('Asked for').fill('gateway/auto')
    await page.keyboard.press('Enter')
    await page.getByRole('row', { name: /openai\/plain openai .* 100\.0 % \d/ }).waitFor()
    await page.getByRole('row', { name: /openai\/absent The model `openai\/absent` does not exist/ }).waitFor()
    await page.getByLabel('Asked for').fill('gateway/none')
    await page.keyboard.press('Enter')
    await page.getByText(/The model `gateway\/none` does not exist/).waitFor()
    if (isLong) t.same(await axeViolations(page), [])
  })

  await t.test('prices are compared before they are published', async (t) => {
    await goTo(page, 'Prices')
    await page.getByText('Without a price').waitFor()
    await button('Import').click()
    const row = { litellm_provider: 'openai', mode: 'chat', max_output_tokens: 16_384 }
    const table = {
      'no-price-yet': { ...row, input_cost_per_token: 1e-6, output_cost_per_token: 2e-6 },
      another: { ...row, input_cost_per_token: 3e-6, output_cost_per_token: 4e-6 },
    }
    await page.getByLabel('Table', { exact: true }).fill('{')
    await submit(page)
    t.equal(await page.getByRole('dialog').count(), 1, 'what is not JSON is not sent')
    await page.getByLabel('Table', { exact: true }).fill(JSON.stringify(table))
    await submit(page)
    await page.getByText('2 added').waitFor()
    t.same(await axeViolations(page), [])
    await button('Import').click()
    const compared = await page.getByLabel('Table', { exact: true }).inputValue()
    t.same(JSON.parse(compared), table, 'what was compared can be corrected')
    const source = () => page.getByRole('dialog').getByLabel('Source', { exact: true })
    for (const read of ['a draft', '']) {
      await source().fill(read)
      await submit(page)
      await closed(page)
      await button('Import').click()
      t.equal(await source().inputValue(), read, 'and left out again')
    }
    await page.keyboard.press('Escape')
    await page.getByLabel('Publish openai/another').uncheck()
    await button('Publish 1 price').click()
    await page.getByRole('row', { name: /openai\/no-price-yet.*1\.00.*2\.00/ }).waitFor()
    await page.getByRole('status').getByText('1 price published, in force from').waitFor()
    await button('Import').click()
    t.equal(await page.getByLabel('Table', { exact: true }).inputValue(), '', 'until it is published')
    await page.keyboard.press('Escape')
    t.match(await read('prices/openai%2Fanother'), { error: { code: 'not_found' } })
    t.notMatch(await page.getByText('Without a price').innerText(), 'no-price-yet')
    await page.getByRole('link', { name: 'openai/no-price-yet' }).click()
    await page.getByRole('heading', { level: 1, name: 'Prices of openai/no-price-yet' }).waitFor()
    await page.getByRole('columnheader', { name: 'Version' }).waitFor()
    await page.getByRole('row', { name: /In force/ }).waitFor()
    if (isLong) t.same(await axeViolations(page), [])
  })

  await t.test('a price file is imported; what it does not have is kept unless its removal is chosen', async (t) => {
    const entry = {
      model: 'openai/no-price-yet',
      effective_from: '2026-01-01T00:00:00Z',
      source: 'ours',
      sheet: {
        currency: 'USD',
        per_million_tokens: { input: '1', cached_input: '0.5', output: '2' },
        max_output_tokens: 16_384,
      },
    }
    const importFile = async (name: string, content: unknown) => {
      await toHash(page, '#/prices')
      await button('Import').click()
      const text = JSON.stringify(content)
      const buffer = Buffer.from(text)
      await page.getByLabel('Table: a file').setInputFiles({ name, mimeType: 'application/json', buffer })
      await until(async () => (await page.getByLabel('Table', { exact: true }).inputValue()) === text)
      await submit(page)
    }
    await importFile('naive.json', { 'openai/x': { input: '1' } })
    await page.getByRole('dialog').getByText('is no table of prices').first().waitFor()
    await page.keyboard.press('Escape')
    await button('Import').click()
    t.match(await page.getByLabel('Table', { exact: true }).inputValue(), 'openai/x', 'what was refused is kept')
    await page.keyboard.press('Escape')
    const from = new Date(Date.now() + 3_600_000).toISOString()
    await importFile('ours.json', { prices: [{ ...entry, effective_from: new Date().toISOString() }] })
    await button('Publish 1 price').click()
    await page.getByRole('status').getByText('1 price published').waitFor()
    await importFile('later.json', {
      prices: [
        { ...entry, effective_from: from, sheet: { ...entry.sheet, per_million_tokens: { input: '1', output: '3' } } },
      ],
    })
    await page.getByLabel('Remove Cached input 0.5 of openai/no-price-yet').waitFor()
    t.equal(await page.getByLabel('Remove Cached input 0.5').isChecked(), false)
    t.same(await axeViolations(page), [])
    await button('Publish 1 price').click()
    await page.getByRole('status').getByText('1 price published').waitFor()
    t.match(await read('prices/openai%2Fno-price-yet'), {
      data: [
        {},
        { source: 'ours' },
        { source: 'ours', sheet: { per_million_tokens: { cached_input: '0.5', output: '3' } } },
      ],
    })
    await toHash(page, '#/prices')
    await page.getByLabel('Model or provider').fill('NO-PRICE')
    await page.getByRole('row', { name: /^openai\/no-price-yet/ }).waitFor()
    t.equal(await page.getByRole('table', { name: 'Prices in force' }).getByRole('row').count(), 2, 'and the header')
    await toHash(page, '#/prices/openai%2Fno-price-yet')
    await page.getByRole('row', { name: /From \w+ \d|From \d/ }).waitFor()
    await page.getByRole('row', { name: /Replaced/ }).waitFor()
  })
  t.same(complaints, [])
})
