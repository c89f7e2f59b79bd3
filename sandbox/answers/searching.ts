export interface Source {
  readonly url: string
  readonly title: string
  readonly text: string
}

export const searchTokens = 50

const queryCharacters = 40

export const queryOf = (userText: string, index: number): string =>
  `${userText.slice(0, queryCharacters).toWellFormed().trim() || 'sandbox'} ${index + 1}`

export const sourceOf = (index: number): Source => ({
  url: `https://example.com/${index + 1}`,
  title: `Source ${index + 1}`,
  text: `What source ${index + 1} says.`,
})
