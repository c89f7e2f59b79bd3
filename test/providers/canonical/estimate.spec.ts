import t from 'tap'
import { estimatePrompt } from '../../../src/providers/canonical/estimate.ts'
import { assistant, conversation, image, text, toolCall, toolResult, user } from './parts.ts'

const picture = image({ mediaType: 'image/png', base64: 'AA==' })

t.test('a count has the images of messages and of results, the most that one costs', async (t) => {
  const turns = [user(text('Hi')), assistant(toolCall('c', 'look')), user(toolResult('c', text('See')))]
  const shown = [user(text('Hi'), picture, picture), turns[1]!, user(toolResult('c', text('See'), picture))]
  const [without, withImages] = [conversation({ turns }), conversation({ turns: shown })]
  t.equal((await estimatePrompt(withImages)) - (await estimatePrompt(without)), 3 * 1_600)
})
