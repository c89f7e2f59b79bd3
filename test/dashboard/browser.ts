import { existsSync, readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { type Browser, type BrowserContext, chromium, type Locator, type Page } from 'playwright-core'
import type { Test } from 'tap'
import { atSuiteEnd } from '../support/suite-end.ts'

/** The shell has no windows of its own to draw: it takes less of a processor for the same page. */
const places = [process.env['CHROMIUM_PATH'] ?? '', '/usr/bin/chromium-headless-shell', '/usr/bin/chromium']

/** Null where none is installed. */
export const findChromium = (): string | null => places.find((path) => path !== '' && existsSync(path)) ?? null

export const withoutChromium = 'no Chromium here: install it, or name it in CHROMIUM_PATH'

/** Pages of the browser's own for each of its windows, and processes kept ready: more than half of its CPU time. */
const ownPages = [
  'WebUIOmniboxPopup',
  'WebUIOmniboxAimPopup',
  'WebUIOmniboxFullPopup',
  'SpareRendererForSitePerProcess',
]
/** What Playwright switches off: the browser heeds one list alone, the last. */
const ofPlaywright = [
  ...['AvoidUnnecessaryBeforeUnloadCheckSync', 'DestroyProfileOnBrowserClose', 'HttpsUpgrades', 'LensOverlay'],
  ...['HttpsFirstBalancedModeAutoEnable', 'MediaRouter', 'PaintHolding', 'ThirdPartyStoragePartitioning'],
  ...['AvoidCorsURLLoaderRestartOnRedirect', 'TcpPortRandomizationWin', 'OptimizationHints', 'PreconnectToSearch'],
  ...['NetworkTimeServiceQuerying', 'AimEnabled'],
]
const flags = [
  ...['--no-sandbox', '--disable-gpu', '--disable-background-networking', '--disable-dev-shm-usage'],
  `--disable-features=${[...ofPlaywright, ...ownPages].join(',')}`,
]

let launched: Promise<Browser> | null = null

const launch = async (executablePath: string): Promise<Browser> => {
  const browser = await chromium.launch({ executablePath, headless: true, args: flags })
  atSuiteEnd(() => browser.close())
  return browser
}

/** One browser for all tests of the process: each visitor has an empty profile. */
export const openBrowser = (executablePath: string): Promise<Browser> => {
  launched ??= launch(executablePath)
  return launched
}

export interface Visitor {
  readonly context: BrowserContext
  readonly page: Page
  /** What the page said went wrong: errors, and what its policy refused. */
  readonly complaints: string[]
}

interface VisitorOptions {
  readonly width?: number
  readonly theme?: 'light' | 'dark'
  readonly timeZone?: string
  readonly locale?: string
}

/** A visitor of their own: nothing of another's is there. */
export const openVisitor = async (
  t: Test,
  browser: Browser,
  { width = 1_280, theme = 'light', timeZone = 'Europe/Berlin', locale = 'en-GB' }: VisitorOptions = {},
): Promise<Visitor> => {
  const context = await browser.newContext({
    viewport: { width, height: 900 },
    colorScheme: theme,
    locale,
    timezoneId: timeZone,
    acceptDownloads: true,
    reducedMotion: 'reduce', // What moves while it waits is drawn anew sixty times a second.
  })
  t.teardown(() => context.close())
  const page = await context.newPage()
  page.setDefaultTimeout(120_000)
  const complaints: string[] = []
  page.on('pageerror', (fault) => complaints.push(String(fault)))
  page.on('console', (message) => {
    if (/Content Security Policy|Refused to/.test(message.text())) complaints.push(message.text())
  })
  return { context, page, complaints }
}

export const signIn = async (page: Page, url: string, secret: string): Promise<void> => {
  await page.goto('about:blank')
  await page.context().clearCookies()
  await page.goto(`${url}/dashboard`)
  await page.getByLabel('Key or admin token').fill(secret)
  await page.getByRole('button', { name: 'Sign in' }).click()
}

export const goTo = (page: Page, name: string): Promise<void> =>
  page.getByRole('navigation').getByRole('link', { name, exact: true }).click()

export const toHash = (page: Page, hash: string): Promise<unknown> =>
  page.evaluate(`location.hash = ${JSON.stringify(hash)}`)

/** Those of a virtual table that are in the document. */
export const rowsOf = (page: Page): Locator => page.locator('.virtual tbody:not([aria-hidden]) tr')

export const heading = (page: Page, name: string): Locator => page.getByRole('heading', { level: 1, name })

/** Put in by the debugger, which the page's policy does not bind. */
const axeSource = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8')

interface AxeResult {
  readonly violations: readonly { readonly id: string; readonly nodes: readonly { readonly target: unknown }[] }[]
}

/** What axe-core finds wrong with the page as it stands, in words. */
export const axeViolations = async (page: Page): Promise<readonly string[]> => {
  if (!(await page.evaluate(() => 'axe' in globalThis))) await page.evaluate(axeSource)
  const { violations } = (await page.evaluate(`axe.run({ resultTypes: ['violations'] })`)) as AxeResult
  return violations.map(({ id, nodes }) => `${id}: ${nodes.map(({ target }) => String(target)).join(', ')}`)
}
