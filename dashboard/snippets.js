// @ts-check
import { h } from './dom.js'

/** The surfaces of text: where each is, its body, and the texts in its stream. */
export const surfaces = /** @type {const} */ ({
  chat: {
    title: 'Chat completions',
    path: '/v1/chat/completions',
    /** @param {string} model @param {string} prompt */
    body: (model, prompt) => ({ model, messages: [{ role: 'user', content: prompt }], max_tokens: 500, stream: true }),
    /** @param {any} event */
    text: (event) => event.choices?.[0]?.delta?.content,
  },
  responses: {
    title: 'Responses',
    path: '/v1/responses',
    /** @param {string} model @param {string} prompt */
    body: (model, prompt) => ({ model, input: prompt, max_output_tokens: 500, stream: true }),
    /** @param {any} event */
    text: (event) => (event.type === 'response.output_text.delta' ? event.delta : undefined),
  },
  messages: {
    title: 'Messages',
    path: '/v1/messages',
    /** @param {string} model @param {string} prompt */
    body: (model, prompt) => ({ model, messages: [{ role: 'user', content: prompt }], max_tokens: 500, stream: true }),
    /** @param {any} event */
    text: (event) => event.delta?.text,
  },
})

/** @typedef {keyof typeof surfaces} Surface */

/** @param {unknown} value */
const quoted = (value) => JSON.stringify(value)

/** @type {Readonly<Record<Surface, (prompt: string) => string>>} */
const pythonCalls = {
  chat: (prompt) =>
    `client.chat.completions.create(model=MODEL, messages=[{"role": "user", "content": ${quoted(prompt)}}])`,
  responses: (prompt) => `client.responses.create(model=MODEL, input=${quoted(prompt)})`,
  messages: (prompt) =>
    `client.messages.create(model=MODEL, max_tokens=500, messages=[{"role": "user", "content": ${quoted(prompt)}}])`,
}

/**
 * One call as a shell and SDKs make it; the key is left to the environment.
 *
 * @param {Surface} surface
 * @param {string} model
 * @param {string} prompt
 * @returns {readonly (readonly [name: string, text: string])[]}
 */
export const snippetsOf = (surface, model, prompt) => {
  const { path, body } = surfaces[surface]
  const { stream: _stream, ...asked } = body(model, prompt)
  const library =
    surface === 'messages' ? ['anthropic', 'Anthropic', '@anthropic-ai/sdk'] : ['openai', 'OpenAI', 'openai']
  const [python, name, javascript] = library
  const base = surface === 'messages' ? location.origin : `${location.origin}/v1`
  const call = pythonCalls[surface](prompt).replace('MODEL', quoted(model))
  const { model: _model, ...rest } = asked
  const method = call.slice(0, call.indexOf('('))
  return [
    [
      'curl',
      `curl ${location.origin}${path} \\\n  -H "Authorization: Bearer $GATEWAY_KEY" -H "Content-Type: application/json" \\\n  -d '${quoted(asked).replaceAll("'", "'\\''")}'`,
    ],
    [
      'Python',
      `import os\nfrom ${python} import ${name}\n\nclient = ${name}(base_url=${quoted(base)}, api_key=os.environ["GATEWAY_KEY"])\nprint(${call})`,
    ],
    [
      'JavaScript',
      `import ${name} from ${quoted(javascript)}\n\nconst client = new ${name}({ baseURL: ${quoted(base)}, apiKey: process.env.GATEWAY_KEY })\nconsole.log(await ${method}(${JSON.stringify({ model, ...rest }, null, 2)}))`,
    ],
  ]
}

/** @param {readonly (readonly [name: string, text: string])[]} snippets */
export const snippetList = (snippets) =>
  h(
    'div',
    { class: 'stack' },
    ...snippets.map(([name, text], place) =>
      h(
        'details',
        { open: place === 0 },
        h('summary', {}, name),
        h('pre', { tabindex: '0', role: 'region', 'aria-label': `The call in ${name}` }, text),
      ),
    ),
  )
