import t from 'tap'
import type { JsonObject } from '../../../src/encoding/json.ts'
import type { ProviderDialect } from '../../../src/providers/dialect/provider.ts'
import { findMaker, makerOf, markOf, unmark } from '../../../src/providers/dialect/provider-mark.ts'
import { dialectFor } from '../../../src/providers/dialects.ts'
import { askedOf, type Surface, targetOf } from '../recorded/targets.ts'

/** `at`: `provider`, or `provider/deployment`. */
const makerAt = (at: string, baseUrl: string, model: string, upstreamModel = model): string => {
  const [name = '', deployment] = at.split('/')
  const provider = { name, baseUrl, ...(deployment === undefined ? {} : { deployment }) }
  return makerOf({ provider, model: `${name}/${model}`, upstreamModel })
}

const ofOneFamily = (at: string): string => makerAt(at, 'https://eu.api.openai.com/v1', 'gpt-5-mini')
const eu = ofOneFamily('openai/eu')
const us = ofOneFamily('openai/us')
const undivided = ofOneFamily('openai')
const other = makerAt('grok', 'https://api.x.ai/v1', 'grok-4')

const bedrockUrl = 'https://bedrock-runtime.eu-west-1.amazonaws.com'
const atBedrock = (model: string, upstreamModel?: string, at = 'bedrock') =>
  makerAt(at, bedrockUrl, model, upstreamModel)
const claude = atBedrock('sonnet', 'eu.anthropic.claude-sonnet-4-5-20250929-v1:0')
const profile = 'arn:aws:bedrock:eu-west-1:123456789012:application-inference-profile/a1b2c3'

const cases: readonly (readonly [what: string, made: string, reader: string, isRead: boolean])[] = [
  ['by the deployment that made it', eu, eu, true],
  ['by another deployment', eu, us, false],
  ['by the provider, once its deployments are gone', eu, undivided, true],
  ['by a deployment, of the provider before it had any', undivided, us, true],
  ['by another provider', eu, other, false],
  ['by a later model of the family', claude, atBedrock('opus', 'us.anthropic.claude-opus-4-6-v1'), true],
  ['by a model of the family that is named in the configuration alone', claude, atBedrock('claude', profile), true],
  ['by another family of the provider', claude, atBedrock('nova', 'amazon.nova-2-lite-v1:0'), false],
  ['by another family, whatever name the operator gave it', claude, atBedrock('claude', 'amazon.nova-pro'), false],
  ['by a deployment, once there are some', claude, atBedrock('sonnet', 'anthropic.claude-x', 'bedrock/eu'), true],
  ['by a model of whose family the names say nothing', atBedrock('fast', profile), atBedrock('fast', profile), true],
  ['by another such model', atBedrock('fast', profile), atBedrock('acme/fast', profile), false],
  ['by a provider of several families, from before marks named them', 'bedrock', claude, false],
  ['by a provider of one family, from before marks named them', 'openai', undivided, true],
  ['by a provider of one family, from when it had another address', 'openai//claude', undivided, false],
]

for (const [what, made, reader, isRead] of cases)
  t.test(`marked content is read ${what}: ${isRead}`, async (t) => {
    t.equal(unmark(reader, `${markOf(made)}AbC=`), isRead ? 'AbC=' : null)
  })

t.test('families of models by their names', async (t) => {
  const names: Readonly<Record<string, readonly string[]>> = {
    claude: ['anthropic/claude-sonnet-4.5', 'us-gov.anthropic.claude-3-7-sonnet-v1:0'],
    gpt: ['gpt-5.4', 'openai/o3', 'chatgpt-4o-latest', 'gpt-5-codex'],
    'gpt-oss': ['openai.gpt-oss-120b-1:0', 'openai/gpt-oss-20b'],
    gemini: ['google/gemini-3-pro-preview', 'gemini-2.5-flash'],
    mistral: ['mistral-large-2512', 'magistral-medium', 'ministral-8b', 'devstral', 'codestral', 'mixtral-8x7b'],
    qwen: ['qwen/qwen3-max', 'qwq-32b', 'Qwen2.5-VL'],
    deepseek: ['deepseek.r1-v1:0', 'deepseek-ai/DeepSeek-V3.2'],
    llama: ['meta-llama/Llama-3.3-70B-Instruct-Turbo', 'llama3.2'],
    nova: ['eu.amazon.nova-lite-v1:0'],
    kimi: ['moonshotai/kimi-k2-thinking'],
    glm: ['z-ai/glm-4.7'],
    grok: ['x-ai/grok-4.1-fast'],
    minimax: ['minimax/minimax-m2'],
  }
  for (const [family, models] of Object.entries(names))
    for (const model of models)
      t.equal(makerAt('openrouter', 'https://openrouter.ai/api/v1', model), `openrouter//${family}`, model)
})

t.test('content without a mark came from the provider; a mark that is none is nobody’s', async (t) => {
  t.equal(unmark(eu, 'AbC='), 'AbC=')
  for (const broken of ['gw1:', 'gw1:openai', 'gw1:%:x']) t.equal(unmark(eu, broken), null, broken)
})

t.test('a body names who made the last of its content that one of these made', async (t) => {
  const item = (maker: string): object => ({ type: 'reasoning', encrypted_content: `${markOf(maker)}x` })
  const bodyOf = (...makers: readonly string[]) => ({ model: 'm', input: [...makers.map(item), { role: 'user' }] })
  const makers = new Map([eu, us].map((maker) => [maker, maker]))
  t.equal(findMaker(makers, bodyOf(eu, us)), us)
  t.equal(findMaker(makers, bodyOf(us, eu, other, undivided, claude)), eu)
  t.equal(findMaker(makers, bodyOf(undivided, other)), null)
  t.equal(findMaker(makers, bodyOf()), null)
  const signed = Buffer.from(`${markOf(us)}AbC=`).toString('base64')
  t.equal(findMaker(makers, { contents: [{ parts: [{ thoughtSignature: signed }] }] }), us)
})

/** What the model gets of a conversation that another one, or itself, began. */
const sentTo = (dialect: ProviderDialect, surface: Surface, reader: string, turns: JsonObject): string => {
  const target = targetOf(dialect, reader)
  const asked = askedOf(surface, target, false)
  const { body } = dialectFor(target.provider, surface).buildRequest(target, {
    ...asked,
    body: { ...asked.body, ...turns },
  })
  return JSON.stringify(body)
}

t.test('one deployment that serves several families gets their state back for its own family alone', async (t) => {
  const sonnet = 'eu.anthropic.claude-sonnet-4-5-20250929-v1:0'
  const nova = 'amazon.nova-2-lite-v1:0'
  const signed = (model: string) => `${markOf(makerOf(targetOf('bedrock', model)))}AbC=`
  const thought = (model: string) => ({
    messages: [
      { role: 'user', content: 'Hi' },
      {
        role: 'assistant',
        content: [
          { type: 'thinking', thinking: 'hm', signature: signed(model) },
          { type: 'text', text: 'Hi' },
        ],
      },
      { role: 'user', content: 'Go on' },
    ],
  })
  for (const model of [sonnet, nova]) {
    t.match(sentTo('bedrock', 'messages', model, thought(model)), /"signature":"AbC="/, model)
    t.notMatch(sentTo('bedrock', 'messages', model, thought(model === nova ? sonnet : nova)), /AbC=/, model)
  }
  const signature = (model: string) =>
    Buffer.from(`${markOf(makerOf(targetOf('vertex', model)))}AbC=`).toString('base64')
  const called = (model: string) => ({
    contents: [
      { role: 'user', parts: [{ text: 'Hi' }] },
      { role: 'model', parts: [{ text: 'Hi', thoughtSignature: signature(model) }] },
      { role: 'user', parts: [{ text: 'Go on' }] },
    ],
  })
  t.match(sentTo('vertex', 'gemini', 'google/gemini-3-pro', called('gemini-3-flash')), /"thoughtSignature":"AbC="/)
  t.notMatch(sentTo('vertex', 'gemini', 'gemini-3-pro', called('claude-sonnet-4-5')), /AbC=|Z3cx/)
  const encrypted = (model: string) => ({
    input: [
      { type: 'reasoning', summary: [], encrypted_content: `${markOf(makerOf(targetOf('openai', model)))}AbC=` },
      { role: 'user', content: 'Go on' },
    ],
  })
  t.match(sentTo('openai', 'responses', 'x-ai/grok-4.1-fast', encrypted('x-ai/grok-4')), /AbC=/)
  t.notMatch(sentTo('openai', 'responses', 'openai/gpt-5.4', encrypted('x-ai/grok-4')), /AbC=/)
})
