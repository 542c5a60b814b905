import react from '@vitejs/plugin-react';
import {defineConfig} from 'vite';

export default defineConfig({
  plugins: [react()],
  // svc may be a link to where it was cloned: its hooks use the React of this project all the same.
  resolve: {dedupe: ['react']},
  optimizeDeps: {include: ['svc/react', 'svc/server']},
  server: {
    // The data and the tokens of the server that svc dev starts: not to be watched or served. The other entries are Vite's defaults.
    watch: {ignored: ['**/.svc/**']},
    fs: {deny: ['.env', '.env.*', '*.{crt,pem}', '**/.git/**', '**/.svc/**']},
  },
});
