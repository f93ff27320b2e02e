//! Generates the Rust constants for strings of the document, such as its version. Also generates an
//! enum for each table in the document's `info`.

use super::{comment, description};
use crate::model::{Constant, Table};
use proc_macro2::TokenStream;
use quote::quote;

pub fn constants(constants: &[Constant]) -> TokenStream {
    let constants = constants.iter().map(|Constant { name, about, value }| {
        let about = description(about.as_ref(), 0);
        quote! {
            #about
            pub const #name: &str = #value;
        }
    });
    quote!(#(#constants)*)
}

pub fn table(table: &Table) -> TokenStream {
    let Table { name, key, rows, columns } = table;
    let about = comment(&format!("The rows of the table `{key}` in the document's `info`."), 0);
    let variants: Vec<_> = rows.iter().map(|(variant, _)| variant).collect();
    let titles: Vec<_> = rows.iter().map(|(_, title)| title).collect();
    let count = proc_macro2::Literal::usize_unsuffixed(rows.len());
    let columns = columns.iter().map(|(method, title, numbers)| {
        let about =
            format!("Returns this value's `{title}` in the document. `None` stands for `null`.");
        let about = comment(&about, 4);
        let numbers = numbers.iter().map(|number| match number {
            Some(number) => {
                let number = proc_macro2::Literal::u32_unsuffixed(*number);
                quote!(Some(#number))
            }
            None => quote!(None),
        });
        quote! {
            #about
            pub const fn #method(self) -> Option<u32> {
                match self { #(#name::#variants => #numbers,)* }
            }
        }
    });
    quote! {
        #about
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
        pub enum #name { #(#variants,)* }

        impl #name {
            pub const ALL: [#name; #count] = [#(#name::#variants),*];

            pub const fn title(self) -> &'static str {
                match self { #(#name::#variants => #titles,)* }
            }

            #(#columns)*
        }
    }
}
