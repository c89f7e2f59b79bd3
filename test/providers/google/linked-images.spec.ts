import t from 'tap'
import type { JsonObject } from '../../../src/encoding/json.ts'
import { finishSteps } from '../../../src/encoding/steps.ts'
import type { ConversationTurn, ImagePart } from '../../../src/providers/canonical/conversation.ts'
import { generateContentRequest } from '../../../src/providers/google/request.ts'
import { asSent } from '../../support/as-sent.ts'
import { conversationOf, targetOf, text } from './target.ts'

const contentsOf = (turns: readonly ConversationTurn[], upstreamModel = 'gemini-3.7-flash'): JsonObject[] => {
  const target = targetOf('gemini-3.7-flash', upstreamModel)
  const steps = generateContentRequest(conversationOf({ turns }), target, { stream: false, outputCap: null })
  return asSent(finishSteps(steps).body).contents
}

const linked = (url: string): ImagePart => ({ type: 'image', source: { url }, detail: null, cached: null })
const user = (url: string): ConversationTurn => ({ role: 'user', parts: [linked(url)] })
const picture = 'https://example.com/a.png'

t.test('an image by URL is sent with the media type that its ending shows', async (t) => {
  const types = {
    'a.PNG?size=2&s=a%2Fb': 'image/png',
    'b.jpg': 'image/jpeg',
    'c.d.jpeg': 'image/jpeg',
    'e.webp': 'image/webp',
    'f.bmp': 'image/bmp',
  }
  for (const [name, mimeType] of Object.entries(types)) {
    const fileUri = `https://example.com/${name}`
    for (const model of ['gemini-2.5-flash', 'gemini-3.7-flash', 'gemini-flash-latest'])
      t.strictSame(contentsOf([user(fileUri)], model), [{ role: 'user', parts: [{ fileData: { mimeType, fileUri } }] }])
  }
})

t.test('that of a result is placed beside it', async (t) => {
  const call = { type: 'tool_call', id: 'c1', name: 'shot', arguments: '{}', signature: 's', cached: null } as const
  const parts = [text('here'), linked(picture)]
  const result = { type: 'tool_result', toolCallId: 'c1', parts, isError: false, cached: null } as const
  const turns: readonly ConversationTurn[] = [
    { role: 'assistant', parts: [call] },
    { role: 'user', parts: [result] },
  ]
  for (const model of ['gemini-2.5-flash', 'gemini-3.7-flash'])
    t.strictSame(contentsOf(turns, model)[1], {
      role: 'user',
      parts: [
        { functionResponse: { id: 'c1', name: 'shot', response: { output: 'here' } } },
        { fileData: { mimeType: 'image/png', fileUri: picture } },
      ],
    })
})

const refused = { code: 'unsupported_parameter', param: 'messages' }

t.test('an address of another kind is refused', async (t) => {
  for (const url of ['http://example.com/a.png', 'https://example.com/a', 'https://example.com/a.gif'])
    t.throws(() => contentsOf([user(url)]), refused, url)
  for (const url of ['https://example.com/?a.png', 'https://', 'https://example.com/.png/'])
    t.throws(() => contentsOf([user(url)]), refused, url)
})

t.test('no address of Google’s own: it may be read as the gateway’s account, or be a video', async (t) => {
  const google = ['generativelanguage.googleapis.com', 'storage.googleapis.com.', 'DRIVE.google.com']
  for (const host of [...google, 'www.youtube.com', 'youtu.be', 'a@youtu.be', 'youtu.be:443'])
    t.throws(() => contentsOf([user(`https://${host}/v1beta/files/a.png`)]), refused, host)
  t.throws(() => contentsOf([user('https://youtu.be\\@example.com/a.png')]), refused)
  t.doesNotThrow(() => contentsOf([user('https://notgoogle.com/google.com/a.png')]))
})

t.test('models that do not read addresses', async (t) => {
  for (const model of ['gemini-2.0-flash', 'gemini-1.5-pro', 'gemma-4'])
    t.throws(() => contentsOf([user(picture)], model), refused, model)
})
