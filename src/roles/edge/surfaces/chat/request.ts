import { requestReader } from '../request.ts'
import type { ChatCompletionRequest } from './request.types.ts'

/** The body as a chat request. */
export const readChatRequest = requestReader<ChatCompletionRequest>('requests/chat-completion-request.json')
