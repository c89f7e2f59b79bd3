const createdSeconds = 1_767_225_600

/** Any name is answered; these are listed. */
const listed = [
  'gpt-5.4',
  'gpt-5.4-mini',
  'gpt-4o',
  'gpt-4o-mini',
  'gpt-4o-audio-preview',
  'grok-4.3',
  'gemini-2.5-flash',
]

const body = JSON.stringify({
  object: 'list',
  data: listed.map((id) => ({ id, object: 'model', created: createdSeconds, owned_by: 'sandbox' })),
})

export const modelsBody = (): string => body
