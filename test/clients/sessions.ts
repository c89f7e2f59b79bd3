/** One session of each client: every one calls a tool and answers with what the tool said. */
import { type ExecFileOptions, execFile } from 'node:child_process'
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import Anthropic from '@anthropic-ai/sdk'
import { betaTool } from '@anthropic-ai/sdk/helpers/beta/json-schema'
import { asObject, asText, parseJson } from '../../src/encoding/json.ts'

export interface Place {
  /** What stands before `/v1`. */
  readonly url: string
  readonly key: string
  readonly model: string
}

/** Gives the last answers; `word` is what the tool says. */
export type Session = (place: Place, word: string) => Promise<readonly string[]>

const sessionMs = 120_000
const outputBytesMax = 64 * 2 ** 20

interface Ended {
  readonly stdout: string
  /** The last line of what it complained of; null where it ended well. */
  readonly fault: string | null
}

const runFile = (file: string, words: readonly string[], options: ExecFileOptions = {}): Promise<Ended> =>
  new Promise((resolve) => {
    const bounds = { timeout: sessionMs, maxBuffer: outputBytesMax, encoding: 'utf8' as const }
    const child = execFile(file, words, { ...options, ...bounds }, (fault, stdout, stderr) => {
      const complaint = stderr.trimEnd().split('\n').at(-1) || fault?.message.split('\n')[0]
      resolve({ stdout, fault: fault === null ? null : (complaint ?? 'it failed') })
    })
    child.stdin?.end()
  })

/** What the last line says that `--output-format stream-json` prints. */
const resultIn = ({ stdout, fault }: Ended): string => {
  const lines = stdout.split('\n').map((line) => asObject(parseJson(line)))
  const { is_error, result } = lines.find(({ type }) => type === 'result') ?? {}
  if (is_error !== false || fault !== null) throw new Error(asText(result) || (fault ?? 'there is no result'))
  return asText(result)
}

/** In a folder of its own, with a file that has the word. */
const inFolder = async <T>(word: string, run: (folder: string, file: string) => Promise<T>): Promise<T> => {
  const folder = await mkdtemp(join(tmpdir(), 'gateway-clients-'))
  try {
    const file = join(folder, 'note.txt')
    await writeFile(file, `The secret word is ${word}.\n`)
    return await run(folder, file)
  } finally {
    await rm(folder, { recursive: true, force: true })
  }
}

/** Headless, in a folder and a home of its own; it may read files and do nothing else. */
export const claudeCode =
  (launcher: string): Session =>
  ({ url, key, model }, word) =>
    inFolder(word, async (folder, file) => {
      const env = {
        PATH: process.env['PATH'],
        HOME: folder,
        CLAUDE_CONFIG_DIR: join(folder, 'config'),
        ANTHROPIC_BASE_URL: url,
        ANTHROPIC_AUTH_TOKEN: key,
        ANTHROPIC_MODEL: model,
        ANTHROPIC_SMALL_FAST_MODEL: model,
        CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC: '1',
        DISABLE_AUTOUPDATER: '1',
        DISABLE_TELEMETRY: '1',
      }
      const words = ['-p', `Read the file ${file} and say the secret word.`, '--allowedTools', 'Read']
      const format = ['--output-format', 'stream-json', '--verbose']
      return [resultIn(await runFile(process.execPath, [launcher, ...words, ...format], { cwd: folder, env }))]
    })

const codexConfig = (url: string): string => `
model_provider = "gateway"
[model_providers.gateway]
name = "gateway"
base_url = "${url}/v1"
env_key = "GATEWAY_KEY"
wire_api = "responses"
`

/** The same, over the responses surface: it reads the file by a command. */
export const codex =
  (launcher: string): Session =>
  ({ url, key, model }, word) =>
    inFolder(word, async (folder, file) => {
      await writeFile(join(folder, 'config.toml'), codexConfig(url))
      const env = { PATH: process.env['PATH'], HOME: folder, CODEX_HOME: folder, GATEWAY_KEY: key }
      // Its own sandbox needs rights that a test may not have; it runs what the upstream here names, and nothing else.
      const options = ['--skip-git-repo-check', '--sandbox', 'danger-full-access', '--model', model]
      const words = ['exec', ...options, `Read the file ${file} and say the secret word.`]
      const { stdout, fault } = await runFile(process.execPath, [launcher, ...words], { cwd: folder, env })
      if (fault !== null) throw new Error(fault)
      return [stdout]
    })

const geminiSettings = JSON.stringify({
  security: { auth: { selectedType: 'gemini-api-key' } },
  privacy: { usageStatisticsEnabled: false },
  general: { enableAutoUpdate: false, disableAutoUpdate: true },
})

/** The same, over Gemini's surface. */
export const geminiCli =
  (launcher: string): Session =>
  ({ url, key, model }, word) =>
    inFolder(word, async (folder, file) => {
      await mkdir(join(folder, '.gemini'))
      await writeFile(join(folder, '.gemini/settings.json'), geminiSettings)
      const env = {
        PATH: process.env['PATH'],
        HOME: folder,
        GEMINI_API_KEY: key,
        GOOGLE_GEMINI_BASE_URL: url,
        GEMINI_CLI_TRUST_WORKSPACE: 'true',
        GEMINI_TELEMETRY_ENABLED: 'false',
      }
      const options = ['--model', model, '--approval-mode', 'yolo', '--output-format', 'text']
      const words = [...options, '--prompt', `Read the file ${file} and say the secret word.`]
      const { stdout, fault } = await runFile(process.execPath, [launcher, ...words], { cwd: folder, env })
      if (fault !== null) throw new Error(fault)
      return [stdout]
    })

const textIn = ({ content }: Anthropic.Beta.BetaMessage): string =>
  content.map((block) => (block.type === 'text' ? block.text : '')).join('')

/** Whole answers, then streams. */
export const typescriptToolRunner: Session = async ({ url, key, model }, word) => {
  const client = new Anthropic({ baseURL: url, apiKey: key, maxRetries: 0 })
  const weather = betaTool({
    name: 'weather',
    description: 'Tells the weather.',
    inputSchema: { type: 'object', properties: { place: { type: 'string' } }, required: ['place'] },
    run: ({ place }) => `${word} in ${place}`,
  })
  const messages = [{ role: 'user' as const, content: 'How is it in Bern?' }]
  const asked = { model, max_tokens: 1_000, messages, tools: [weather] }
  const texts: string[] = []
  for (const stream of [false, true])
    texts.push(textIn(await client.beta.messages.toolRunner({ ...asked, stream }).runUntilDone()))
  return texts
}

/** The same. */
export const pythonToolRunner =
  (python: string): Session =>
  async ({ url, key, model }, word) => {
    const script = fileURLToPath(new URL('tool_runner.py', import.meta.url))
    const { stdout, fault } = await runFile(python, [script, url, key, model, word])
    if (fault !== null) throw new Error(fault)
    return stdout.trimEnd().split('\n')
  }
