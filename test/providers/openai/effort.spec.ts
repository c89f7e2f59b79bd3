import t from 'tap'
import { leastEffortOf, namedModelOf } from '../../../src/providers/openai/effort.ts'

t.test('the least effort that a model knows', async (t) => {
  const table: readonly [string, string | null][] = [
    ['gpt-4o', null],
    ['gpt-4.1-mini', null],
    ['gpt-4o-search-preview', null],
    ['gpt-5', 'minimal'],
    ['gpt-5-mini-2025-08-07', 'minimal'],
    ['gpt-5-chat-latest', null],
    ['gpt-5-pro', null],
    ['gpt-5-codex', null],
    ['gpt-5.1', 'none'],
    ['gpt-5.4-mini-2026-03-17', 'none'],
    ['gpt-5.6-sol', 'none'],
    ['gpt-5.2-chat-latest', null],
    ['gpt-5.4-pro', null],
    ['gpt-6-sol', 'none'],
    ['gpt-6-luna', 'none'],
    ['gpt-6.1-terra', 'none'],
    ['gpt-6.1-sol', 'low'],
    ['gpt-6-astra', 'low'],
    ['o3', 'low'],
    ['o4-mini-2025-04-16', 'low'],
    ['gemini-2.5-flash-lite', 'none'],
    ['gemini-2.5-pro', 'low'],
    ['gemini-3.7-flash', 'low'],
    ['gemini-2.0-flash', null],
    ['grok-3-mini', 'low'],
    ['grok-4', null],
    ['llama-4', null],
  ]
  for (const [model, effort] of table) t.equal(leastEffortOf(model), effort, model)
})

t.test('a deployment of another name is the model that it is called by', async (t) => {
  for (const [model, upstreamModel, expected] of [
    ['azure/gpt-5.4', 'our-deployment', 'gpt-5.4'],
    ['azure/gpt-4o', 'our-deployment', 'gpt-4o'],
    ['azure/fast', 'gpt-5-mini', 'gpt-5-mini'],
    ['azure/gpt-5', 'gpt-5-chat-latest', 'gpt-5-chat-latest'],
    ['openrouter/gpt-5.1', 'openai/gpt-5.1', 'gpt-5.1'],
  ] as const)
    t.equal(namedModelOf({ model, upstreamModel }), expected, model)
})
