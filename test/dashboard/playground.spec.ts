import { execFile } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import t from 'tap'
import { issueKey, openWorkspace, revokeKey } from '../../src/administration/account-changes.ts'
import { chat, chatBody } from '../support/clients.ts'
import { runtime } from '../support/gateway.ts'
import { axeViolations, findChromium, openBrowser, openVisitor, signIn, toHash, withoutChromium } from './browser.ts'
import { adminToken, openWorld } from './world.ts'

const chromium = findChromium()

const root = fileURLToPath(new URL('../../', import.meta.url))

/** What a command prints, with a key of the gateway in its environment. */
const run = async (key: string, program: string, ...words: readonly string[]): Promise<string> => {
  const { NODE_OPTIONS: _ofTheRunner, ...environment } = process.env
  const { stdout } = await promisify(execFile)(program, words, { cwd: root, env: { ...environment, GATEWAY_KEY: key } })
  return stdout
}

t.test('the playground and the first use', { skip: chromium === null && withoutChromium }, async (t) => {
  const world = await openWorld(t)
  const { account, operator, url } = world
  const { page, complaints } = await openVisitor(t, await openBrowser(chromium!))
  page.setDefaultTimeout(30_000)

  await t.test('a prompt is answered with its bill', async (t) => {
    await signIn(page, url, account.secret)
    await toHash(page, '#/playground')
    await page.getByRole('row', { name: /openai\/plain 1\.00 2\.00/ }).waitFor()
    await page.getByLabel('Key of this workspace').fill(account.secret)
    await page.getByLabel('Model', { exact: true }).fill('openai/plain')
    await page.getByLabel('Prompt').fill('Say "hello".')
    for (const surface of ['chat', 'responses', 'messages', 'gemini']) {
      await page.getByLabel('Surface').selectOption(surface)
      await page.getByRole('button', { name: 'Send' }).click()
      const link = page.getByRole('link', { name: 'The charge, explained' })
      await link.waitFor()
      t.not(await page.locator('.answer').innerText(), '', `${surface}: the text`)
      const id = (await link.getAttribute('href'))?.split('/').at(-1)
      const headers = { authorization: `Bearer ${account.secret}` }
      const answer = await fetch(`${url}/v1/ledger/charges/${id}`, { headers })
      const { charge } = (await answer.json()) as { readonly charge: { readonly total: string } }
      t.match(await page.locator('.total').innerText(), charge.total, `${surface}: the bill`)
      const [curl = '', , javascript = ''] = await page.locator('pre').allTextContents()
      t.match(await run(account.secret, 'sh', '-c', curl), /"usage(Metadata)?":/, `${surface}: the same by curl`)
      t.match(
        await run(account.secret, process.execPath, '--input-type=module', '-e', javascript),
        /usage(Metadata)?: /,
        `${surface}: the same by the SDK`,
      )
    }
    t.notMatch(await page.content(), account.secret)
    t.same(await axeViolations(page), [])
    await page.getByLabel('Model', { exact: true }).fill('openai/unknown')
    await page.getByRole('button', { name: 'Send' }).click()
    await page.getByRole('alert').getByText('openai/unknown').waitFor()
  })

  await t.test('a stream that breaks off is shown with its reason and its bill', async (t) => {
    await page.getByLabel('Surface').selectOption('chat')
    await page.getByLabel('Model', { exact: true }).fill('openai/plain')
    const events = [{ choices: [{ delta: { content: 'Hel' } }] }, { error: { message: 'The upstream broke off.' } }]
    await page.route('**/v1/chat/completions', (route) =>
      route.fulfill({
        contentType: 'text/event-stream',
        headers: { 'x-gateway-request-id': 'request-3-1' },
        body: events.map((event) => `data: ${JSON.stringify(event)}\n\n`).join(''),
      }),
    )
    await page.getByRole('button', { name: 'Send' }).click()
    await page.getByRole('alert').getByText('The upstream broke off.').waitFor()
    t.equal(await page.locator('.answer').innerText(), 'Hel')
    const link = page.getByRole('link', { name: 'The charge, explained' })
    await link.waitFor()
    t.match(await link.getAttribute('href'), /request-3-1$/)
    await page.unroute('**/v1/chat/completions')
  })

  await t.test('a key of another workspace has its bill there', async (t) => {
    const other = await operator.openAccount('other', '1')
    await page.getByLabel('Key of this workspace').fill(other.secret)
    await page.getByRole('button', { name: 'Send' }).click()
    await page.getByRole('alert').getByText('The key may be one of another workspace.').waitFor()
    t.same(await axeViolations(page), [])
  })

  await t.test('an empty workspace shows the next step and its first request', async (t) => {
    await openWorkspace(operator, { workspaceId: 'fresh', name: 'Fresh', creditLimitPicos: 0n })
    const { keyId } = await issueKey(operator, { workspaceId: 'fresh', name: 'revoked' }, runtime)
    await revokeKey(operator, keyId)
    await signIn(page, url, adminToken)
    await toHash(page, '#/w/fresh/overview')
    const step = (title: string) => page.locator('.steps li').filter({ hasText: title })
    await step('Credit').getByText('Next').waitFor()
    await page.getByRole('status').getByText('Waiting for the first request…').waitFor()
    t.equal(await page.locator('[role=status] .steps').count(), 0, 'one sentence is announced, not the list')
    t.same(await axeViolations(page), [])
    const failed = page.waitForEvent('requestfailed', (request) => request.url().endsWith('/ledger/wallet'))
    await page.route('**/ledger/wallet', (route) => route.abort(), { times: 1 })
    await failed
    await step('Credit').getByRole('button', { name: 'Add credit' }).click()
    await page.getByLabel('Amount (USD)').fill('1')
    await page.getByLabel('Reference').fill('first')
    await page.getByRole('button', { name: 'Preview' }).click()
    await page.getByText('becomes').waitFor()
    await page.getByRole('dialog').locator('button[type=submit]').click()
    await step('Credit').getByText('Done').waitFor()
    await step('Key').getByText('Next').waitFor()
    t.equal(await step('Key').getByRole('link').getAttribute('href'), '#/w/fresh/keys')
    for (const name of ['curl', 'Claude Code'])
      t.match(
        await page.getByRole('region', { name: `The call in ${name}`, includeHidden: true }).textContent(),
        /openai\/plain/,
        'with a model that can be called here',
      )
    const { secret } = await issueKey(operator, { workspaceId: 'fresh', name: 'first' }, runtime)
    await step('First request').getByText('Next').waitFor()
    await chat(url, secret, chatBody('openai/plain', false))
    await page.getByText('The first request is here:').getByRole('link').click()
    await page.getByRole('heading', { level: 1, name: 'One charge, explained' }).waitFor()
  })
  t.same(complaints, [])
})
