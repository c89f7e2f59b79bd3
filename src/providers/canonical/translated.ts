import type { Usage } from '../../domain/usage/usage.ts'
import { isObject, type JsonObject, parseJsonBytes } from '../../encoding/json.ts'
import { eachInSteps, finishSteps, type RunStep, takeSteps } from '../../encoding/steps.ts'
import { runWhereLarge } from '../../runtime/large-steps.ts'
import type {
  AnswerFault,
  StreamRelay,
  Target,
  UpstreamAnswer,
  UpstreamCallRequest,
  UpstreamDialect,
  UpstreamRequest,
} from '../dialect/dialect.ts'
import { requestedTier } from '../dialect/provider.ts'
import { makerOf } from '../dialect/provider-mark.ts'
import { checkAddress } from './allowed-members.ts'
import type { Conversation, ConversationPart } from './conversation.ts'
import { DeliveredReply } from './delivered.ts'
import { countConversationUsage } from './estimate.ts'
import type { ClientFormat, Served, UpstreamFormat } from './format.ts'
import { unsupported } from './refuse.ts'
import type { Reply } from './reply.ts'
import { TranslatedRelay } from './translated-relay.ts'

const servedBy = (target: Target, request: UpstreamCallRequest): Served => ({
  model: target.model,
  requestId: request.requestId,
  createdSeconds: target.calledAtSeconds,
  nowSeconds: target.nowSeconds ?? (() => target.calledAtSeconds),
  provider: makerOf(target),
})

const deliveredBy = (reply: Reply): DeliveredReply => {
  const delivered = new DeliveredReply()
  delivered.addReply(reply)
  return delivered
}

const isNonEmpty = (part: ConversationPart): boolean => part.type !== 'text' || part.text !== ''

/** OpenAI answers instructions alone; others need a turn, so the instructions become user text. */
const withTurn = (conversation: Conversation): Conversation =>
  conversation.turns.some(({ parts }) => parts.some(isNonEmpty))
    ? conversation
    : { ...conversation, system: [], turns: [{ role: 'user', parts: conversation.system }] }

/** Agents ask every model for the same length, and upstreams refuse more than theirs can write. */
const withinSheet = (conversation: Conversation, { sheet }: Target): Conversation => {
  const { outputTokensMax } = conversation
  if (outputTokensMax === null || outputTokensMax <= sheet.max_output_tokens) return conversation
  return { ...conversation, outputTokensMax: sheet.max_output_tokens }
}

const withToolCalls = (usage: Usage, implied: Usage['toolCalls']): Usage =>
  Object.keys(implied).length === 0 ? usage : { ...usage, toolCalls: { ...implied, ...usage.toolCalls } }

const addressOf = (part: ConversationPart): string | null =>
  (part.type === 'image' || part.type === 'document') && 'url' in part.source ? part.source.url : null

const checkAddresses = ({ turns }: Conversation, { provider }: Target): Generator<void, void> =>
  eachInSteps(turns, ({ parts }) => {
    for (const part of parts)
      for (const each of part.type === 'tool_result' ? part.parts : [part]) {
        const address = addressOf(each)
        if (address !== null) checkAddress(address, 'messages', provider)
      }
  })

/** A choice of the caller's is among functions: with `none`, the web search that another member asks for is kept. */
const withChoiceKept = (conversation: Conversation): Conversation =>
  conversation.webSearch !== null && conversation.toolChoice?.type === 'none'
    ? { ...conversation, tools: [], toolChoice: null }
    : conversation

/** As the upstream gets it: tools that are merely offered are left out where it has none of the kind. */
function* readFor(
  upstream: UpstreamFormat,
  target: Target,
  reading: Generator<void, Conversation>,
): Generator<void, Conversation> {
  const conversation = withChoiceKept(yield* reading)
  yield
  yield* checkAddresses(conversation, target)
  const { webSearch } = conversation
  if (webSearch === null || upstream.offersSearch?.(conversation, target) !== false) return conversation
  if (webSearch.isForced === true)
    throw unsupported('tool_choice', 'demands a web search, which is not available for this model')
  if (webSearch.isOptional !== true) return conversation
  return { ...conversation, webSearch: null, droppedTools: [...(conversation.droppedTools ?? []), 'web_search'] }
}

export const translated = (client: ClientFormat, upstream: UpstreamFormat): UpstreamDialect => {
  const readConversation = (target: Target, request: UpstreamCallRequest): Generator<void, Conversation> =>
    readFor(upstream, target, client.readRequest(request.body, makerOf(target)))

  function* buildSteps(target: Target, request: UpstreamCallRequest): Generator<void, UpstreamRequest> {
    const conversation = yield* readConversation(target, request)
    const { droppedTools = [] } = conversation
    yield
    const written = yield* upstream.writeRequest(withinSheet(withTurn(conversation), target), target, request)
    return droppedTools.length === 0 ? written : { ...written, droppedTools }
  }

  function* impliedBy(target: Target, request: UpstreamCallRequest): Generator<void, Usage['toolCalls']> {
    const implied = upstream.impliedToolCalls?.(target) ?? null
    return implied === null ? {} : implied(yield* readConversation(target, request))
  }

  function* openSteps(target: Target, request: UpstreamCallRequest): Generator<void, StreamRelay> {
    const implied = yield* impliedBy(target, request)
    const served = servedBy(target, request)
    const writer =
      client.openWriterSteps === undefined
        ? client.openWriter(served, request.body)
        : yield* client.openWriterSteps(served, request.body)
    return new TranslatedRelay(upstream.openReader(target), writer, (reported) => withToolCalls(reported, implied))
  }

  const written = (target: Target, request: UpstreamCallRequest, reply: Reply, usage: Usage): JsonObject =>
    client.writeReply({ ...reply, usage }, servedBy(target, request), request.body)

  const answerOf = (target: Target, request: UpstreamCallRequest, json: JsonObject, reply: Reply): UpstreamAnswer => {
    const delivered = deliveredBy(reply)
    if (reply.usage === null) return { json, reportedUsage: null, delivered }
    const reportedUsage = withToolCalls(reply.usage, finishSteps(impliedBy(target, request)))
    return { json, reportedUsage, delivered, body: written(target, request, reply, reportedUsage) }
  }

  const readAnswer = (target: Target, request: UpstreamCallRequest, body: Uint8Array): UpstreamAnswer | AnswerFault => {
    const json = parseJsonBytes(body)
    if (!isObject(json)) return { fault: 'not_json' }
    const reply = upstream.readReply(target, json)
    return 'fault' in reply ? reply : answerOf(target, request, json, reply)
  }

  return {
    buildRequest: (target, request) => finishSteps(buildSteps(target, request)),
    buildSteps,
    readAnswer,
    completeAnswer: (answer, counted, target, request) => {
      const reply = upstream.readReply(target, answer.json)
      if ('fault' in reply) throw new Error('a response can be read only once')
      return written(target, request, reply, counted)
    },
    openRelay: (target, request) => finishSteps(openSteps(target, request)),
    openSteps,
    countUsage: async (target, request, delivered) => {
      const { workspaceId = '', bodyBytes: bytes = 0 } = request
      const inStep: RunStep = (step) => runWhereLarge({ workspaceId, bytes }, step)
      const conversation = await takeSteps(readConversation(target, request), inStep)
      const implied = upstream.impliedToolCalls?.(target)?.(conversation) ?? {}
      const counted = await countConversationUsage(conversation, delivered, implied, request)
      return { ...counted, ...requestedTier(target, conversation.serviceTier) }
    },
    // The field that an upstream names is one of its own format.
    readRefusal: (provider, body) => {
      const refusal = upstream.readRefusal(provider, body)
      return refusal === null ? null : { ...refusal, param: null }
    },
  }
}
