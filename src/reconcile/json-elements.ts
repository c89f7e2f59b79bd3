import { reconcileLimits } from './limits.ts'

export class JsonFault extends Error {
  override readonly name = 'JsonFault'
}

interface Frame {
  readonly container: '{' | '['
  /** The member of an object that is being read; null if its name comes next. */
  member: string | null
}

const token = /\s*(?:([{}[\],:])|("[^"\\]*(?:\\[\s\S][^"\\]*)*")|([^\s{}[\],:"]+))/y

/**
 * Splits a report as it is read: the elements of `data` in each page, as text. A file may hold several pages, in
 * sequence or in an array; a page's `data` may be one object instead of an array.
 */
export class JsonElements {
  #text = ''
  #at = 0
  /** Where the current element begins in the text; null outside one. */
  #element: { readonly from: number; readonly depth: number } | null = null
  readonly #frames: Frame[] = []
  #pages = 0
  #hasData = false
  #hasMore = false

  /** True if the last page announces others after it. */
  get hasMore(): boolean {
    return this.#hasMore
  }

  push(text: string): readonly string[] {
    this.#text += text
    const elements: string[] = []
    while (this.#read(elements));
    this.#discardRead()
    return elements
  }

  /** Throws JsonFault if the file ends in the middle of a page, or holds none. */
  end(): void {
    if (this.#frames.length > 0 || this.#text.slice(this.#at).trim() !== '')
      throw new JsonFault('the file ends in the middle of a page')
    if (this.#pages === 0) throw new JsonFault('the file holds no page of a report')
  }

  #read(elements: string[]): boolean {
    token.lastIndex = this.#at
    const match = token.exec(this.#text)
    if (match === null) return false
    const [whole, mark, string, primitive] = match
    const end = token.lastIndex
    // A number may continue in the next piece of text.
    if (primitive !== undefined && end === this.#text.length) return false
    const from = this.#at + whole.length - (mark ?? string ?? primitive ?? '').length
    this.#at = end
    if (mark !== undefined) this.#takeMark(mark, from, elements)
    else if (string !== undefined && this.#isNameDue) this.#takeName(string.slice(1, -1))
    else this.#takeValue(from, primitive ?? '', elements)
    return true
  }

  get #isNameDue(): boolean {
    const frame = this.#frames.at(-1)
    return frame?.container === '{' && frame.member === null
  }

  get #pageDepth(): number {
    return this.#frames[0]?.container === '[' ? 1 : 0
  }

  get #pageMember(): string | null {
    return this.#frames[this.#pageDepth]?.member ?? null
  }

  /** True for an element of a page's `data`, and for `data` itself if it is an object. */
  #isElement(isObject: boolean): boolean {
    if (this.#pageMember !== 'data') return false
    const within = this.#frames.length - this.#pageDepth
    return within === 2 ? this.#frames.at(-1)!.container === '[' : within === 1 && isObject
  }

  #takeName(name: string): void {
    this.#frames.at(-1)!.member = name
    if (name === 'data' && this.#frames.length === this.#pageDepth + 1) this.#hasData = true
  }

  #takeMark(mark: string, from: number, elements: string[]): void {
    if (mark === '{' || mark === '[') this.#enter(mark, from)
    else if (mark === '}' || mark === ']') this.#leave(mark, elements)
    else if (mark === ',' && this.#frames.at(-1)?.container === '{') this.#frames.at(-1)!.member = null
  }

  #enter(container: '{' | '[', from: number): void {
    const depth = this.#frames.length
    if (this.#element === null && this.#isElement(container === '{')) this.#element = { from, depth }
    if (container === '{' && depth === this.#pageDepth) {
      this.#pages += 1
      this.#hasData = false
      this.#hasMore = false
    }
    this.#frames.push({ container, member: null })
  }

  #leave(mark: '}' | ']', elements: string[]): void {
    const frame = this.#frames.pop()
    if (frame?.container !== (mark === '}' ? '{' : '[')) throw new JsonFault(`there is a ${mark} too many`)
    if (mark === '}' && this.#frames.length === this.#pageDepth && !this.#hasData)
      throw new JsonFault('a page has no `data`: it is no page of a report')
    if (this.#element === null || this.#element.depth !== this.#frames.length) return
    elements.push(this.#text.slice(this.#element.from, this.#at))
    this.#element = null
  }

  #takeValue(from: number, primitive: string, elements: string[]): void {
    if (this.#frames.length === 0) throw new JsonFault('the file holds something else than pages of a report')
    if (this.#element === null && this.#isElement(false)) elements.push(this.#text.slice(from, this.#at))
    const isOfPage = this.#frames.length === this.#pageDepth + 1
    if (isOfPage && this.#pageMember === 'has_more') this.#hasMore = primitive === 'true'
  }

  #discardRead(): void {
    const from = this.#element?.from ?? this.#at
    if (this.#text.length - from > reconcileLimits.invoiceElementCharactersMax)
      throw new JsonFault(`a part of a page has more than ${reconcileLimits.invoiceElementCharactersMax} characters`)
    this.#text = this.#text.slice(from)
    this.#at -= from
    if (this.#element !== null) this.#element = { ...this.#element, from: 0 }
  }
}

interface ReviverContext {
  readonly source: string
}

/** Numbers stay as they are written: none passes through a float. */
const numbersAsText = (_name: string, value: unknown, told?: ReviverContext): unknown =>
  typeof value === 'number' && told !== undefined ? told.source : value

/** Throws SyntaxError for invalid JSON. */
export const parseExactly = (text: string): unknown => JSON.parse(text, numbersAsText)
