import { sharedLimits } from '../../src/runtime/limits.ts'

/** Bodies of a surface with as many members and elements as a body may have, one for each place that takes many, as JSON text. */
export type WorstBodies = Readonly<Record<string, string>>

const listed = (count: number, item: (place: number) => string): string =>
  Array.from({ length: Math.floor(count) }, (_, place) => item(place)).join()

/** Of which so many may be different; some are in the rest of the body. */
const namesOf = (members: number): number => Math.min(members, sharedLimits.jsonDifferentNamesMax - 100)

const said = '{"role":"user","content":"hi"}'
const functionCall = (place: number): string =>
  `{"id":"c${place}","type":"function","function":{"name":"f","arguments":"{}"}}`

export const worstChats = (members: number): WorstBodies => {
  const chat = (messages: string, more = ''): string => `{"model":"openai/plain","messages":[${messages}]${more}}`
  const content = (parts: string): string => chat(`{"role":"user","content":[${parts}]}`)
  return {
    'user messages': chat(listed(members / 3, () => said)),
    'system messages': chat(`${said},${listed(members / 3, () => '{"role":"system","content":"hi"}')}`),
    'text parts': content(listed(members / 3, () => '{"type":"text","text":"a"}')),
    images: content(listed(members / 4, () => '{"type":"image_url","image_url":{"url":"data:image/png;base64,AA"}}')),
    'tool calls': chat(
      `${said},{"role":"assistant","content":"","tool_calls":[${listed(members / 10, functionCall)}]},${listed(
        members / 10,
        (place) => `{"role":"tool","tool_call_id":"c${place}","content":"x"}`,
      )}`,
    ),
    tools: chat(
      said,
      `,"tools":[${listed(members / 6, (place) => `{"type":"function","function":{"name":"f${place}","parameters":{}}}`)}]`,
    ),
    names: chat(said, `,"metadata":{${listed(namesOf(members), (place) => `"k${place}":1`)}}`),
    numbers: chat(said, `,"x":[${listed(members, () => '1')}]`),
  }
}

export const worstMessages = (members: number): WorstBodies => {
  const ask = (messages: string, more = ''): string =>
    `{"model":"openai/plain","max_tokens":10,"messages":[${messages}]${more}}`
  const toolUse = (place: number): string => `{"type":"tool_use","id":"t${place}","name":"f","input":{}}`
  return {
    'user messages': ask(listed(members / 3, () => said)),
    'messages in turn': ask(
      listed(members / 3, (place) => `{"role":"${place % 2 ? 'assistant' : 'user'}","content":"hi"}`),
    ),
    'text blocks': ask(`{"role":"user","content":[${listed(members / 3, () => '{"type":"text","text":"a"}')}]}`),
    'tool calls': ask(
      `${said},{"role":"assistant","content":[${listed(members / 10, toolUse)}]},{"role":"user","content":[${listed(
        members / 10,
        (place) => `{"type":"tool_result","tool_use_id":"t${place}","content":"x"}`,
      )}]}`,
    ),
    tools: ask(
      said,
      `,"tools":[${listed(members / 4, (place) => `{"name":"f${place}","input_schema":{"type":"object"}}`)}]`,
    ),
    // One that has a price comes last, and is what the choice can be met by.
    'tools without a price': ask(
      said,
      `,"tool_choice":{"type":"any"},"tools":[${listed(members / 2 - 5, () => '{"type":"advisor_20260101"}')},{"name":"f","input_schema":{}}]`,
    ),
    names: ask(said, `,"metadata":{${listed(namesOf(members), (place) => `"k${place}":1`)}}`),
  }
}

const nestedLevels = 50

export const worstResponses = (members: number): WorstBodies => {
  const ask = (input: string, more = ''): string => `{"model":"openai/plain","input":[${input}]${more}}`
  const functions = listed(members / 3, (place) => `{"type":"function","name":"f${place}"}`)
  return {
    items: ask(listed(members / 3, () => said)),
    parts: ask(`{"role":"user","content":[${listed(members / 3, () => '{"type":"input_text","text":"a"}')}]}`),
    'tool calls': ask(
      listed(
        members / 10,
        (place) =>
          `{"type":"function_call","call_id":"c${place}","name":"f","arguments":"{}"},{"type":"function_call_output","call_id":"c${place}","output":"x"}`,
      ),
    ),
    tools: ask(said, `,"tools":[${functions}]`),
    'tools in tools': ask(
      said,
      `,"tools":[${'{"type":"namespace","tools":['.repeat(nestedLevels)}${functions}${']}'.repeat(nestedLevels)}]`,
    ),
    'tools without a price': ask(
      said,
      `,"tool_choice":"required","tools":[${listed(members / 2 - 5, () => '{"type":"bank_search"}')},{"type":"function","name":"f"}]`,
    ),
    numbers: ask(said, `,"x":[${listed(members, () => '1')}]`),
  }
}
