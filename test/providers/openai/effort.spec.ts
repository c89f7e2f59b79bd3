import t from 'tap'
import { leastEffortOf } from '../../../src/providers/openai/effort.ts'

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
