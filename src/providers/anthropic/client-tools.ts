import type { JsonObject } from '../../encoding/json.ts'
import type { ToolDefinition } from '../canonical/conversation.ts'

type Described = Pick<ToolDefinition, 'description'> & {
  readonly properties: JsonObject
  readonly required: readonly string[]
}

const text = { type: 'string' }
const whole = { type: 'integer' }
const lines = { type: 'array', items: whole, minItems: 2, maxItems: 2 }

const commands = (...names: readonly string[]): JsonObject => ({ type: 'string', enum: names })

const edits = { path: text, file_text: text, old_str: text, new_str: text, insert_line: whole, insert_text: text }

/** Tools whose schema is built into Claude and which the caller runs: other models get it written out. Read 2026-11. */
const described: readonly (readonly [RegExp, Described])[] = [
  [
    /^bash_\d{8}$/,
    {
      description: 'Runs a command in a persistent bash session of the caller. `restart` starts a new session.',
      properties: { command: text, restart: { type: 'boolean' } },
      required: [],
    },
  ],
  [
    /^text_editor_(?:20241022|20250124)$/,
    {
      description:
        'Views and edits files of the caller. `view` takes view_range (first and last line), `create` file_text, `str_replace` old_str, which must occur once, and new_str, `insert` insert_line and new_str; `undo_edit` takes the last edit of the file back.',
      properties: {
        command: commands('view', 'create', 'str_replace', 'insert', 'undo_edit'),
        view_range: lines,
        ...edits,
      },
      required: ['command', 'path'],
    },
  ],
  [
    /^text_editor_\d{8}$/,
    {
      description:
        'Views and edits files of the caller. `view` takes view_range (first and last line), `create` file_text, `str_replace` old_str, which must occur once, and new_str, `insert` insert_line and insert_text.',
      properties: { command: commands('view', 'create', 'str_replace', 'insert'), view_range: lines, ...edits },
      required: ['command', 'path'],
    },
  ],
  [
    /^memory_\d{8}$/,
    {
      description:
        'Keeps notes as files under /memories: look there before you begin, and write down what later conversations need. `view` takes path, `create` path and file_text, `str_replace` path, old_str and new_str, `insert` path, insert_line and insert_text, `delete` path, `rename` old_path and new_path.',
      properties: {
        command: commands('view', 'create', 'str_replace', 'insert', 'delete', 'rename'),
        view_range: lines,
        ...edits,
        old_path: text,
        new_path: text,
      },
      required: ['command'],
    },
  ],
]

export const clientTool = (type: string, name: string): Omit<ToolDefinition, 'cached'> | null => {
  const found = described.find(([pattern]) => pattern.test(type))?.[1]
  if (found === undefined) return null
  const { description, properties, required } = found
  return { name, description, parameters: { type: 'object', properties, required }, strict: null }
}
