import { mkdir, writeFile } from 'node:fs/promises'
import type { Browser, Page } from 'playwright-core'
import t, { type Test } from 'tap'
import { until } from '../support/clients.ts'
import { isLong } from '../support/long-form.ts'
import { axeViolations, findChromium, openBrowser, openVisitor, signIn, toHash, withoutChromium } from './browser.ts'
import { adminToken, openWorld, type World } from './world.ts'

/** Where `make pictures` keeps what each view looks like; without it none are taken. */
const picturesFolder = process.env['DASHBOARD_PICTURES'] ?? ''
const pictureBytesMax = 100_000

const widths = [390, 1_440, 2_560]
const themes = ['light', 'dark'] as const

/** `make pictures` and `make test-long` look at every width in both themes, and the tests of every commit at two widths, each in another theme. */
const isLookedAt = (width: number, theme: (typeof themes)[number]): boolean =>
  picturesFolder !== '' || isLong || (width === 1_440 && theme === 'light') || (width === 390 && theme === 'dark')

/** axe-core takes most of the time of a visit: `make test` has it look at each view in one of both themes, at every second in light. */
const isExamined = (place: number, theme: (typeof themes)[number]): boolean =>
  picturesFolder !== '' || isLong || (place % 2 === 0) === (theme === 'light')

interface Visit {
  readonly name: string
  readonly hash: string
}

const ownVisits: readonly Visit[] = [
  ...[
    'overview',
    'spend',
    'statement',
    'requests',
    'charges',
    'videos',
    'playground',
    'tail',
    'findings',
    'health',
  ].map((name) => ({
    name,
    hash: `#/${name}`,
  })),
  { name: 'charge', hash: '#/charges/request-3-1' },
]
const adminVisits: readonly Visit[] = [
  ...['home', 'workspaces', 'prices', 'routing', 'plans', 'months', 'alerts', 'webhooks', 'audit'].map((name) => ({
    name,
    hash: `#/${name}`,
  })),
  ...['keys', 'account'].map((name) => ({ name, hash: `#/w/acme/${name}` })),
  { name: 'requests-of-all', hash: '#/requests' },
  { name: 'first-use', hash: '#/w/empty/overview' },
  { name: 'month', hash: `#/months/${new Date().toISOString().slice(0, 7)}` },
]

/** True once a view shows what it read. */
const settled = `(() => {
  const view = document.querySelector('.view')
  return view !== null && view.querySelector('h1') !== null && document.querySelector('[aria-busy=true], .skeleton') === null
})()`

/** The texts of labels and cells whose boxes lie over each other by more than a pixel, as far as they can be seen. */
const overlaps = `(() => {
  const chosen = 'th, td, label, dt, dd, h1, h2, p, a, button, summary, .field'
  const clipped = (element, box) => {
    let { left, top, right, bottom } = box
    for (let at = element; at !== null && at !== document.body; at = at.parentElement) {
      if (getComputedStyle(at).overflow === 'visible') continue
      const outer = at.getBoundingClientRect()
      left = Math.max(left, outer.left); top = Math.max(top, outer.top)
      right = Math.min(right, outer.right); bottom = Math.min(bottom, outer.bottom)
    }
    return { left, top, right, bottom }
  }
  const boxes = []
  for (const element of document.querySelectorAll(chosen)) {
    if (element.querySelector(chosen) !== null || element.closest('.unseen, .skip') !== null) continue
    if (!element.checkVisibility({ contentVisibilityAuto: true, visibilityProperty: true })) continue
    const range = document.createRange()
    range.selectNodeContents(element)
    const box = clipped(element, range.getBoundingClientRect())
    if (box.right - box.left > 1 && box.bottom - box.top > 1) boxes.push({ ...box, text: element.textContent.slice(0, 40) })
  }
  return boxes.flatMap((one, place) => boxes.slice(place + 1).flatMap((other) =>
    Math.min(one.right, other.right) - Math.max(one.left, other.left) > 1 &&
    Math.min(one.bottom, other.bottom) - Math.max(one.top, other.top) > 3
      ? [one.text + ' / ' + other.text] : []))
})()`

const takePicture = async (page: Page, name: string): Promise<number> => {
  const session = await page.context().newCDPSession(page)
  const { data } = await session.send('Page.captureScreenshot', { format: 'webp', quality: 60 })
  await session.detach()
  const picture = Buffer.from(data, 'base64')
  await mkdir(picturesFolder, { recursive: true })
  await writeFile(`${picturesFolder}/${name}.webp`, picture)
  return picture.length
}

const visit = async (
  t: Test,
  page: Page,
  [place, { name, hash }]: readonly [number, Visit],
  width: number,
  theme: (typeof themes)[number],
): Promise<void> => {
  await toHash(page, hash)
  await until(() => page.evaluate(settled))
  const what = `${name}, ${width} pixels, ${theme}`
  t.notOk(await page.evaluate('document.documentElement.scrollWidth > innerWidth'), `${what}: fits`)
  t.same(await page.evaluate(overlaps), [], `${what}: nothing overlaps`)
  if (isExamined(place, theme)) t.same(await axeViolations(page), [], `${what}: axe-core finds nothing`)
  const isPictured = (width === 1_440 && theme === 'light') || (width === 390 && theme === 'dark')
  if (picturesFolder === '' || !isPictured) return
  t.ok((await takePicture(page, `${name}-${width}`)) <= pictureBytesMax, `${what}: a small picture`)
}

/** A change of which the page shows what was before it. */
const changeVisit = async ({ url }: World): Promise<Visit> => {
  const headers = { authorization: `Bearer ${adminToken}` }
  const answer = await fetch(`${url}/admin/v1/events?type=AlertRuleSet`, { headers })
  const { data } = (await answer.json()) as { readonly data: readonly { sequence: number; index: number }[] }
  return { name: 'change', hash: `#/audit/${data[0]!.sequence}-${data[0]!.index}` }
}

const allViews = (world: World, browser: Browser, width: number, theme: (typeof themes)[number]) => async (t: Test) => {
  const { page, complaints } = await openVisitor(t, browser, { width, theme })
  page.on('console', (message) => {
    if (message.type() === 'error') complaints.push(message.text())
  })
  await signIn(page, world.url, world.account.secret)
  await page.locator('.view').waitFor()
  for (const each of ownVisits.entries()) await visit(t, page, each, width, theme)
  await signIn(page, world.url, adminToken)
  await page.locator('.view').waitFor()
  const visits = [...adminVisits, await changeVisit(world)]
  for (const each of visits.entries()) await visit(t, page, each, width, theme)
  t.same(complaints, [], 'the console has no errors')
}

/** An alert that is raised at once, to a destination that cannot have it: its reason is shown. */
const raiseAlert = async ({ url }: World): Promise<void> => {
  const headers = { authorization: `Bearer ${adminToken}`, 'content-type': 'application/json' }
  const body = JSON.stringify({ measure: 'balance', threshold: '1000000', destinations: ['ops'] })
  await fetch(`${url}/admin/v1/workspaces/acme/alert-rules/low`, { method: 'PUT', headers, body })
  await until(async () => {
    const rules = await fetch(`${url}/admin/v1/alert-rules`, { headers })
    return (await rules.text()).includes('it is not configured')
  })
}

const chromium = findChromium()

t.test('every view', { skip: chromium === null && withoutChromium }, async (t) => {
  const world = await openWorld(t)
  await raiseAlert(world)
  const browser = await openBrowser(chromium!)
  for (const width of widths)
    for (const theme of themes.filter((each) => isLookedAt(width, each)))
      await t.test(`${width} pixels, ${theme}`, allViews(world, browser, width, theme))
})
