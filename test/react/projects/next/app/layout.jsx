import {Providers} from './providers';

export const metadata = {title: 'next'};

export default function Layout({children}) {
  return (
    <html lang="en">
      <body>
        <Providers>{children}</Providers>
      </body>
    </html>
  );
}
