// @ts-check
import { h } from './dom.js'

/** @param {unknown} value */
const quoted = (value) => JSON.stringify(value)

/** @param {boolean} isStream */
const streamed = (isStream) => (isStream ? { stream: true } : {})

/** @param {string} model */
const inPath = (model) => model.split('/').map(encodeURIComponent).join('/')

const tokensMax = 500

/** The surfaces of text: where each is, its body, the texts in its stream, and its SDKs: their packages, clients and calls. */
export const surfaces = /** @type {const} */ ({
  chat: {
    title: 'Chat completions',
    path: () => '/v1/chat/completions',
    /** @param {string} model @param {string} prompt @param {boolean} isStream */
    body: (model, prompt, isStream) => ({
      ...{ model, messages: [{ role: 'user', content: prompt }], max_tokens: tokensMax },
      ...streamed(isStream),
    }),
    /** @param {any} event */
    text: (event) => event.choices?.[0]?.delta?.content,
    sdk: 'openai',
    method: 'client.chat.completions.create',
  },
  responses: {
    title: 'Responses',
    path: () => '/v1/responses',
    /** @param {string} model @param {string} prompt @param {boolean} isStream */
    body: (model, prompt, isStream) => ({
      ...{ model, input: prompt, max_output_tokens: tokensMax },
      ...streamed(isStream),
    }),
    /** @param {any} event */
    text: (event) => (event.type === 'response.output_text.delta' ? event.delta : undefined),
    sdk: 'openai',
    method: 'client.responses.create',
  },
  messages: {
    title: 'Messages',
    path: () => '/v1/messages',
    /** @param {string} model @param {string} prompt @param {boolean} isStream */
    body: (model, prompt, isStream) => ({
      ...{ model, messages: [{ role: 'user', content: prompt }], max_tokens: tokensMax },
      ...streamed(isStream),
    }),
    /** @param {any} event */
    text: (event) => event.delta?.text,
    sdk: 'anthropic',
    method: 'client.messages.create',
  },
  gemini: {
    title: 'Gemini’s generateContent',
    /** @param {string} model @param {boolean} isStream */
    path: (model, isStream) =>
      `/v1beta/models/${inPath(model)}:${isStream ? 'streamGenerateContent?alt=sse' : 'generateContent'}`,
    /** @param {string} _model @param {string} prompt */
    body: (_model, prompt) => ({
      contents: [{ role: 'user', parts: [{ text: prompt }] }],
      generationConfig: { maxOutputTokens: tokensMax },
    }),
    /** @param {any} event */
    text: (event) => event.candidates?.[0]?.content?.parts?.map((/** @type {any} */ { text = '' }) => text).join(''),
    sdk: 'google',
    method: 'client.models.generateContent',
  },
})

/** @typedef {keyof typeof surfaces} Surface */

/** How each SDK is imported and made, for an address of the gateway, in Python and in JavaScript. */
const sdks = {
  openai: {
    python: (/** @type {string} */ origin) =>
      `from openai import OpenAI\n\nclient = OpenAI(base_url="${origin}/v1", api_key=os.environ["GATEWAY_KEY"])`,
    javascript: (/** @type {string} */ origin) =>
      `import OpenAI from "openai"\n\nconst client = new OpenAI({ baseURL: "${origin}/v1", apiKey: process.env.GATEWAY_KEY })`,
  },
  anthropic: {
    python: (/** @type {string} */ origin) =>
      `from anthropic import Anthropic\n\nclient = Anthropic(base_url="${origin}", api_key=os.environ["GATEWAY_KEY"])`,
    javascript: (/** @type {string} */ origin) =>
      `import Anthropic from "@anthropic-ai/sdk"\n\nconst client = new Anthropic({ baseURL: "${origin}", apiKey: process.env.GATEWAY_KEY })`,
  },
  google: {
    python: (/** @type {string} */ origin) =>
      `from google import genai\n\nclient = genai.Client(api_key=os.environ["GATEWAY_KEY"], http_options={"base_url": "${origin}"})`,
    javascript: (/** @type {string} */ origin) =>
      `import { GoogleGenAI } from "@google/genai"\n\nconst client = new GoogleGenAI({ apiKey: process.env.GATEWAY_KEY, httpOptions: { baseUrl: "${origin}" } })`,
  },
}

/** What an SDK's call is given: Google's take no body as it is sent. @param {Surface} surface @param {string} model @param {string} prompt */
const givenOf = (surface, model, prompt) =>
  surface === 'gemini' ? { model, contents: prompt } : surfaces[surface].body(model, prompt, false)

/**
 * One call as a shell and SDKs make it; the key is left to the environment.
 *
 * @param {Surface} surface
 * @param {string} model
 * @param {string} prompt
 * @returns {readonly (readonly [name: string, text: string])[]}
 */
export const snippetsOf = (surface, model, prompt) => {
  const { path, body, sdk, method } = surfaces[surface]
  const { origin } = location
  const version = surface === 'messages' ? '-H "anthropic-version: 2023-06-01" ' : ''
  const sent = quoted(body(model, prompt, false)).replaceAll("'", "'\\''")
  const given = givenOf(surface, model, prompt)
  const named = Object.entries(given).map(([name, value]) => `${name}=${quoted(value)}`)
  const pythonMethod = method.replace('generateContent', 'generate_content')
  return [
    [
      'curl',
      `curl '${origin}${path(model, false)}' \\\n  -H "Authorization: Bearer $GATEWAY_KEY" -H "Content-Type: application/json" \\\n  ${version}-d '${sent}'`,
    ],
    ['Python', `import os\n${sdks[sdk].python(origin)}\nprint(${pythonMethod}(${named.join(', ')}))`],
    ['JavaScript', `${sdks[sdk].javascript(origin)}\nconsole.log(await ${method}(${JSON.stringify(given, null, 2)}))`],
  ]
}

/**
 * How agents are set up for a model, with the key of the environment.
 *
 * @param {string} model
 * @returns {readonly (readonly [name: string, text: string])[]}
 */
export const agentSnippetsOf = (model) => [
  [
    'Claude Code',
    `ANTHROPIC_BASE_URL=${location.origin} ANTHROPIC_AUTH_TOKEN=$GATEWAY_KEY \\\n  ANTHROPIC_MODEL=${quoted(model)} ANTHROPIC_SMALL_FAST_MODEL=${quoted(model)} claude`,
  ],
  [
    'Codex',
    `# ~/.codex/config.toml\nmodel = ${quoted(model)}\nmodel_provider = "gateway"\n\n[model_providers.gateway]\nname = "gateway"\nbase_url = "${location.origin}/v1"\nenv_key = "GATEWAY_KEY"\nwire_api = "responses"`,
  ],
]

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
