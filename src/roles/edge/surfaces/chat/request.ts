import { requestReader } from '../request.ts'
import type { ChatCompletionRequest } from './request.types.ts'

export const readChatRequest = requestReader<ChatCompletionRequest>('requests/chat-completion-request.json')
