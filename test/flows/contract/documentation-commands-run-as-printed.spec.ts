import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdir, symlink, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import type { Readable, Writable } from 'node:stream'
import { text } from 'node:stream/consumers'
import { fileURLToPath } from 'node:url'
import t, { type Test } from 'tap'
import { documentationInOrder, fencesOf } from '../../structure/documentation.ts'
import { isShownAsPrinted, type ShownOutput } from '../../structure/shown-output.ts'
import { until } from '../../support/clients.ts'
import { prepareDataFolder } from '../../support/clusters.ts'
import { temporaryFolder } from '../../support/gateway.ts'
import { mainFile, programEnvironment, runWords } from '../../support/program.ts'

const root = fileURLToPath(new URL('../../..', import.meta.url))
const printedAddress = 'http://127.0.0.1:8787'

/** What no test runs, by a part of it. */
const notRun: readonly (readonly [part: string, reason: string])[] = [
  ['make test', 'this test starts the gateway itself, without the installation'],
  ['npm install -g', 'make package-test does so'],
  ['raw.githubusercontent.com', 'it downloads a file'],
  ['costs.json', 'the file comes from a provider'],
  ['-- servers', 'it takes a terminal of its own'],
  ['-- witness', 'it takes a terminal of its own'],
  ['prove --balance', 'it needs a snapshot, and the first is written after 10 minutes'],
  ['-- serve --role', 'it takes the port 8787; the roles run apart in `Deployment`'],
]

const fences = documentationInOrder().flatMap((page) => fencesOf(page).map((fence) => ({ ...fence, path: page.path })))

const blocksOf = (language: string): readonly string[] =>
  fences.filter(({ info }) => info === language).map(({ body }) => body)

interface Shown extends ShownOutput {
  readonly path: string
}

/** Blocks of commands, each with the output that its page shows after it. */
const commandBlocks = (): readonly { readonly commands: string; readonly shown: Shown | null }[] =>
  fences.flatMap(({ info, body: commands }, place) => {
    if (info !== 'sh') return []
    const { info: shownInfo = '', body = '', before = '', path = '' } = fences[place + 1] ?? {}
    const language = /^(json|text) output$/.exec(shownInfo)?.[1] as Shown['language'] | undefined
    const isShortened = before.includes('shortened')
    return [{ commands, shown: language === undefined ? null : { language, body, isShortened, path } }]
  })

const endOfBlock = '\u001e'

/**
 * npm's own start costs a second for each command, so the words go to a process that runs one command after the other: over the file
 * descriptor 3, ended by an empty word; its exit code comes back over 4. An HTTP answer that is an error is a failure.
 */
const prelude = `
  npm() {
    [ "$1 $2 $3 $4" = 'run -s gateway --' ] || return 127
    shift 4
    printf '%s\\0' "$@" '' >&3
    read -r code <&4
    cat .out
    cat .err >&2
    return "$code"
  }
  curl() { command curl -sS --fail-with-body "$@"; }
  set -ex
`

const runCommands = async (folder: string, asked: Readable, codes: Writable): Promise<void> => {
  let words = ''
  for await (const part of asked.setEncoding('utf8')) {
    words += part
    if (!words.endsWith('\0\0')) continue
    const { code, out, err } = await runWords(folder, words.slice(0, -2).split('\0'))
    words = ''
    await Promise.all([writeFile(join(folder, '.out'), out), writeFile(join(folder, '.err'), err)])
    codes.write(`${code}\n`)
  }
}

interface ShellEnd {
  readonly code: number
  readonly out: string
  /** Each command, and what it wrote there. */
  readonly err: string
}

const runShell = async (folder: string, script: string): Promise<ShellEnd> => {
  const child = spawn('sh', ['-c', `${prelude}\n${script}`], {
    cwd: folder,
    env: programEnvironment(),
    stdio: ['ignore', 'pipe', 'pipe', 'pipe', 'pipe'],
  })
  const [, , , asked, codes] = child.stdio
  const commands = runCommands(folder, asked as Readable, codes as Writable)
  const [out, err, [code]] = await Promise.all([
    text(child.stdout!),
    text(child.stderr!),
    once(child, 'exit'),
    commands,
  ])
  return { code, out, err }
}

/** What the commands find in a checkout: the data folder is filled by the gateway. */
const openCheckout = async (t: Test): Promise<string> => {
  const folder = await temporaryFolder(t)
  for (const name of ['prices.json', 'docs']) await symlink(join(root, name), join(folder, name))
  await writeFile(join(folder, 'gateway.yaml'), 'tags: [team, env]\n') // As docs/tags.md has it.
  await mkdir(join(folder, 'data'))
  await prepareDataFolder(join(folder, 'data'))
  return folder
}

/** What the snippets take from elsewhere: the caller's messages, and a callback that was received. */
const snippetGivens = `
import { createHmac, timingSafeEqual } from 'node:crypto'
const messages = [{ role: 'user' as const, content: 'Hello!' }]
const [secret, rawBody] = ['whsec_c2VjcmV0', '{}']
const headers = { 'webhook-id': '1', 'webhook-timestamp': String(Math.floor(Date.now() / 1000)), 'webhook-signature': '' }
headers['webhook-signature'] = \`v1,\${createHmac('sha256', 'secret').update(\`1.\${headers['webhook-timestamp']}.{}\`).digest('base64')}\`
`

/** All snippets as one module: what one declares, those after it can use and declare anew. */
const snippetModule = (blocks: readonly string[]): string => {
  const lines = blocks.flatMap((block) => ['{', ...block.trimEnd().split('\n')])
  const isImport = (line: string) => line.startsWith('import ')
  const seen =
    'console.log(JSON.stringify([answer, message, response].map(({ usage }) => usage !== undefined)), file.status, isOurs, isFresh)'
  const ends = '}'.repeat(blocks.length)
  return [
    snippetGivens,
    ...new Set(lines.filter(isImport)),
    ...lines.filter((line) => !isImport(line)),
    seen,
    ends,
  ].join('\n')
}

const lastLineOfBanner = /\/admin\/v1\/workspaces .*\n/

/** Starts the gateway as `make run` does, on a free port, and resolves with what it prints. */
const startGateway = async (t: Test, folder: string): Promise<string> => {
  const words = [mainFile, 'serve', '--port', '0', '--observe-port', 'off']
  const child = spawn(process.execPath, words, {
    cwd: folder,
    env: programEnvironment(),
    stdio: ['ignore', 'pipe', 'ignore'],
  })
  const exited = once(child, 'exit')
  t.teardown(async () => {
    child.kill()
    await exited
  })
  let banner = ''
  for await (const part of child.stdout!.setEncoding('utf8')) {
    banner += part
    if (lastLineOfBanner.test(banner)) return banner
  }
  throw new Error(`the gateway ended before it answered: ${banner}`)
}

t.test('every command of the documentation and of the banner runs as printed', async (t) => {
  const folder = await openCheckout(t)
  const banner = await startGateway(t, folder)

  const url = /answers at (http:\S+)\/v1/.exec(banner)?.[1]

  await t.test('the README and docs/', async (t) => {
    const blocks = commandBlocks()
    for (const [part, reason] of notRun)
      t.equal(blocks.filter(({ commands }) => commands.includes(part)).length, 1, `one block is not run: ${reason}`)
    const run = blocks.filter(({ commands }) => !notRun.some(([part]) => commands.includes(part)))
    t.ok(run.length > 0, `${run.length} blocks are run`)
    // Its first seal is due within a second.
    await until(async () => (await runShell(folder, 'npm run -s gateway -- verify')).code === 0)
    const script = run.map(({ commands }) => `${commands}printf '${endOfBlock}'\n`).join('')
    const { code, out, err } = await runShell(folder, script.replaceAll(printedAddress, url!))
    t.equal(code, 0, 'every command', { lastCommands: err.slice(-2_000) })
    const printed = out.split(endOfBlock)
    for (const [place, { shown }] of run.entries())
      if (shown !== null)
        t.ok(isShownAsPrinted(shown, printed[place] ?? ''), `${shown.path} shows what its commands print`, {
          shown: shown.body,
          printed: printed[place],
        })
  })

  await t.test('the banner', async (t) => {
    const [ask = '', usage = '', admin = '', ...more] = banner.match(/^ {2}curl (?:.*\\\n)*.*$/gm) ?? []
    t.same(more, [])
    t.match(await runShell(folder, `${ask}\n${admin}`), { code: 0, out: /"chat.completion".*"demo"/s })
    t.match(banner, /soon after its end\.\n {2}curl \S+\/billing\/usage/, 'it tells how late the tables are')
    await until(async () => JSON.parse((await runShell(folder, usage)).out).total_usage > 0)
  })

  await t.test('the snippets in TypeScript', async (t) => {
    const blocks = blocksOf('ts')
    t.ok(blocks.length > 0, `${blocks.length} snippets`)
    await symlink(join(root, 'node_modules'), join(folder, 'node_modules'))
    await writeFile(join(folder, 'snippets.ts'), snippetModule(blocks).replaceAll(printedAddress, url!))
    const ended = await runShell(folder, `KEY="$(cat data/demo-key)" '${process.execPath}' snippets.ts`)
    t.match(ended, { code: 0, out: '[true,true,true] 200 true true\n' }, ended.err.slice(-1_000))
  })
})
