import { reconcileLimits } from './limits.ts'

/** What is no report in JSON; the rest of the file cannot be read. */
export class JsonFault extends Error {
  override readonly name = 'JsonFault'
}

/** An object or array that was begun and not ended. */
interface Frame {
  readonly container: '{' | '['
  /** Of an object: the member that is being read; null where its name comes next. */
  member: string | null
}

const token = /\s*(?:([{}[\],:])|("[^"\\]*(?:\\[\s\S][^"\\]*)*")|([^\s{}[\],:"]+))/y

/**
 * Takes a report apart as it comes: the elements of `data` in each page, as text. A file may hold several pages, one after the other or
 * in an array; a page's `data` may be one object instead of an array.
 */
export class JsonElements {
  #text = ''
  #at = 0
  /** Where the element at hand begins in the text; null outside one. */
  #element: { readonly from: number; readonly depth: number } | null = null
  readonly #frames: Frame[] = []
  #pages = 0
  #hasData = false
  #hasMore = false

  /** True where the last page says that there are others after it. */
  get hasMore(): boolean {
    return this.#hasMore
  }

  /** The elements that a piece of text completes. Throws JsonFault. */
  push(text: string): readonly string[] {
    this.#text += text
    const elements: string[] = []
    while (this.#read(elements));
    this.#discardRead()
    return elements
  }

  /** Throws JsonFault where the file ends in the middle of a page, or holds none. */
  end(): void {
    if (this.#frames.length > 0 || this.#text.slice(this.#at).trim() !== '')
      throw new JsonFault('the file ends in the middle of a page')
    if (this.#pages === 0) throw new JsonFault('the file holds no page of a report')
  }

  /** Reads one token; false where the text does not hold it whole. */
  #read(elements: string[]): boolean {
    token.lastIndex = this.#at
    const match = token.exec(this.#text)
    if (match === null) return false
    const [whole, mark, string, primitive] = match
    const end = token.lastIndex
    // A number may go on in the next piece of text.
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

  /** Where the pages are: at the top, or in one array there. */
  get #pageDepth(): number {
    return this.#frames[0]?.container === '[' ? 1 : 0
  }

  get #pageMember(): string | null {
    return this.#frames[this.#pageDepth]?.member ?? null
  }

  /** True where a value is an element of a page's `data`, or `data` itself and an object. */
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

  /** What was read and is part of no element goes. */
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

/** Every number stays as it is written: none passes through a float. */
const numbersAsText = (_name: string, value: unknown, told?: ReviverContext): unknown =>
  typeof value === 'number' && told !== undefined ? told.source : value

/** A value whose numbers are texts. Throws SyntaxError where it is no JSON. */
export const parseExactly = (text: string): unknown => JSON.parse(text, numbersAsText)
