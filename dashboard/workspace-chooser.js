// @ts-check
import { h } from './dom.js'
import { select } from './parts.js'
import { readAll } from './session.js'

/** For administrators: which workspace is shown, or all. @param {import('./session.js').Session} session */
export const workspaceChooser = (session) => {
  const control = select([['', 'All workspaces']])
  control.setAttribute('aria-label', 'Workspace')
  control.addEventListener('change', () => {
    location.hash = control.value === '' ? '#/' : `#/w/${encodeURIComponent(control.value)}`
  })
  let chosen = ''
  const fill = async () => {
    const all = /** @type {import('./types.d.ts').Workspace[]} */ (
      await readAll((cursor) => session.get('/admin/v1/workspaces', { cursor, limit: 1000 }))
    )
    for (const { id, name } of all) {
      const known = [...control.options].find(({ value }) => value === id)
      if (known === undefined) control.append(h('option', { value: id }, name))
      else known.textContent = name
    }
    control.value = chosen
  }
  // The view of the workspaces shows what is wrong.
  void fill().catch(() => undefined)
  return {
    element: h('div', { class: 'chooser' }, control),
    /** @param {string | null} scope */
    choose: (scope) => {
      chosen = scope ?? ''
      if (chosen !== '' && ![...control.options].some(({ value }) => value === chosen))
        control.append(h('option', { value: chosen }, chosen))
      control.value = chosen
    },
  }
}
