import { type FileHandle, open, readdir, rename, rm } from 'node:fs/promises'
import { dirname } from 'node:path'

const draftEnding = '.draft'

export const toDraftPath = (path: string): string => `${path}${draftEnding}`

const syncFolder = async (folder: string): Promise<void> => {
  const handle = await open(folder, 'r')
  try {
    await handle.sync()
  } finally {
    await handle.close()
  }
}

export const publishDraft = async (path: string, name: string = path): Promise<void> => {
  await rename(toDraftPath(path), name)
  await syncFolder(dirname(name))
}

export const replaceFile = async (path: string, text: string): Promise<void> => {
  const handle: FileHandle = await open(toDraftPath(path), 'w')
  try {
    await handle.writeFile(text)
    await handle.sync()
  } finally {
    await handle.close()
  }
  await publishDraft(path)
}

export const removeLeftovers = async (folder: string, isLeftover: (name: string) => boolean): Promise<void> => {
  for (const name of await readdir(folder))
    if (name.endsWith(draftEnding) || isLeftover(name)) await rm(`${folder}/${name}`)
}
